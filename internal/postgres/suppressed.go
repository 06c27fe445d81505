package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// suppressionKey is by what recipient_suppression knows an address.
type suppressionKey struct {
	channel notification.Channel
	hash    string
}

// readSuppressions adds to people what recipient_suppression says of their addresses, in
// one statement. Without a secret the hashes are not known, and nothing is suppressed.
func (s *Store) readSuppressions(ctx context.Context, on querier, people []*notification.Recipient) error {
	const query = `
		SELECT s.channel, s.address_hash, s.reason, coalesce(s.detail, ''), s.since
		FROM   unnest($1::text[], $2::bytea[]) AS a (channel, address_hash)
		JOIN   recipient_suppression s USING (channel, address_hash)
		ORDER BY s.since, s.reason`

	owners, channels, hashes := s.ownersOf(people)
	if len(hashes) == 0 {
		return nil
	}
	rows, _ := on.Query(ctx, query, channels, hashes) // ForEachRow returns its error
	var found notification.Suppression
	var hash []byte
	_, err := pgx.ForEachRow(rows, []any{&found.Channel, &hash, &found.Reason, &found.Detail, &found.Since}, func() error {
		for _, owner := range owners[suppressionKey{found.Channel, string(hash)}] {
			owner.Suppressions = appendSuppression(owner.Suppressions, found)
		}
		return nil
	})
	return wrap(err, "read suppressions")
}

// appendSuppression adds a suppression unless the address has one for the same reason,
// under another secret.
func appendSuppression(all []notification.Suppression, found notification.Suppression) []notification.Suppression {
	if slices.ContainsFunc(all, func(s notification.Suppression) bool { return s.Channel == found.Channel && s.Reason == found.Reason }) {
		return all
	}
	return append(all, found)
}

// ownersOf returns whose each address is, which several may share, and each address once.
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
