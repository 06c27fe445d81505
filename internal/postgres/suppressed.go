package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/notification"
)

// suppressionKey identifies an address in recipient_suppression.
type suppressionKey struct {
	channel notification.Channel
	hash    string
}

// readSuppressions adds the suppressions of their addresses to people, in one statement.
// Without a secret the hashes are unknown, and nothing is suppressed.
func (s *Store) readSuppressions(ctx context.Context, on Querier, people []*notification.Recipient) error {
	const query = `
		SELECT s.channel, s.address_hash, s.reason, coalesce(s.detail, ''), s.since
		FROM   unnest($1::text[], $2::bytea[]) AS a (channel, address_hash)
		JOIN   recipient_suppression s USING (channel, address_hash)
		ORDER BY s.since, s.reason`

	owners, channels, hashes := s.ownersOf(people)
	if len(hashes) == 0 {
		return nil
	}
	var found notification.Suppression
	var hash []byte
	fields := []any{&found.Channel, &hash, &found.Reason, &found.Detail, &found.Since}
	return Each(ctx, on, "read suppressions", fields, func() {
		for _, owner := range owners[suppressionKey{found.Channel, string(hash)}] {
			owner.Suppressions = appendSuppression(owner.Suppressions, found)
		}
	}, query, channels, hashes)
}

// appendSuppression adds a suppression, unless the address has one for the same reason
// under another secret.
func appendSuppression(all []notification.Suppression, found notification.Suppression) []notification.Suppression {
	if slices.ContainsFunc(all, func(s notification.Suppression) bool { return s.Channel == found.Channel && s.Reason == found.Reason }) {
		return all
	}
	return append(all, found)
}

// ownersOf returns the owners of each address, which several may share, and each address
// once.
func (s *Store) ownersOf(people []*notification.Recipient) (owners map[suppressionKey][]*notification.Recipient, channels []string, hashes [][]byte) {
	if s.AddressHash == nil {
		return nil, nil, nil
	}
	owners = map[suppressionKey][]*notification.Recipient{}
	for _, person := range people {
		for _, channel := range notification.Channels() {
			address := notification.NormalAddress(channel, person.Address(channel))
			if address == "" {
				continue
			}
			for _, hash := range s.addressHashes(address) {
				key := suppressionKey{channel, string(hash)}
				if owners[key] == nil {
					channels, hashes = append(channels, string(channel)), append(hashes, hash)
				}
				owners[key] = append(owners[key], person)
			}
		}
	}
	return owners, channels, hashes
}

// switchOffTimeout limits the wait for an application that locks its rows. It leaves time
// to note the problem on the attempt.
const switchOffTimeout = 2 * time.Second

// switchOff switches off tokens of the recipient of the attempts. If that fails, it notes
// the problem on each attempt, and returns it.
func (s *Store) switchOff(ctx context.Context, tokens, ids []string, numbers []int) (problem string) {
	// '0' means false in any type of column.
	const update = `
		UPDATE recipient_device d
		SET    active = '0'
		WHERE  d.token::text = ANY ($1)
		AND    (d.user_type::text, d.user_id::text) IN (SELECT n.user_type, n.user_id FROM notification n WHERE n.delivery_id = ANY ($2))`
	const note = `
		UPDATE delivery_attempt a
		SET    detail = concat_ws('; ', a.detail, $3::text)
		FROM   unnest($1::text[], $2::int[]) AS i (delivery_id, attempt)
		WHERE  a.delivery_id = i.delivery_id
		AND    a.attempt = i.attempt`

	hurried, cancel := context.WithTimeout(ctx, switchOffTimeout)
	defer cancel()
	_, err := s.Pool.Exec(hurried, update, tokens, ids)
	if err == nil {
		return ""
	}
	problem = "a dead token could not be switched off in recipient_device: " + whyNotUpdated(err)
	if _, err := s.Pool.Exec(ctx, note, ids, numbers, problem); err != nil {
		problem += ", and neither could that be noted"
	}
	return problem
}

// whyNotUpdated explains in Herald's words why recipient_device cannot be updated. A
// trigger of an application's view may quote anything.
func whyNotUpdated(err error) string {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return "the database did not answer in time"
	}
	switch refused.Code {
	case "55000", "0A000":
		return "this view cannot be updated; give it an active that can be, or an INSTEAD OF trigger"
	case "42501":
		return "Herald's role may not; GRANT UPDATE (active) ON recipient_device"
	default:
		return fmt.Sprintf("the database refuses it, SQLSTATE %s", refused.Code)
	}
}
