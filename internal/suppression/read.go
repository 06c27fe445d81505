package suppression

import (
	"context"
	"slices"

	"herald/internal/address"
	"herald/internal/db"
	"herald/internal/notification"
)

// suppressionKey identifies an address in recipient_suppression.
type suppressionKey struct {
	channel notification.Channel
	hash    string
}

// ReadSuppressions adds the suppressions of their addresses to people, in one statement.
// Without a secret the hashes are unknown, and nothing is suppressed.
func (s Store) ReadSuppressions(ctx context.Context, on db.Querier, people []*notification.Recipient) error {
	const query = `
		SELECT s.channel, s.address_hash, s.reason, coalesce(s.detail, '') AS detail, s.since
		FROM   unnest($1::text[], $2::bytea[]) AS a (channel, address_hash)
		JOIN   recipient_suppression s USING (channel, address_hash)
		ORDER BY s.since, s.reason`

	owners, channels, hashes := s.ownersOf(people)
	if len(hashes) == 0 {
		return nil
	}
	type row struct {
		AddressHash []byte
		notification.Suppression
	}
	rows, err := db.Collect(ctx, on, "read suppressions", db.ByName[row](), query, channels, hashes)
	for _, row := range rows {
		for _, owner := range owners[suppressionKey{row.Channel, string(row.AddressHash)}] {
			owner.Suppressions = appendSuppression(owner.Suppressions, row.Suppression)
		}
	}
	return err
}

// appendSuppression adds a suppression, unless the address has one for the same reason
// under another secret.
func appendSuppression(all []notification.Suppression, found notification.Suppression) []notification.Suppression {
	if slices.ContainsFunc(all, func(s notification.Suppression) bool { return s.Channel == found.Channel && s.Reason == found.Reason }) {
		return all
	}
	return append(all, found)
}

// ownersOf returns each address once, and the owners of each address: several people may share
// one.
func (s Store) ownersOf(
	people []*notification.Recipient,
) (owners map[suppressionKey][]*notification.Recipient, channels []string, hashes [][]byte) {
	if s.AddressHash == nil {
		return nil, nil, nil
	}
	owners = map[suppressionKey][]*notification.Recipient{}
	for _, person := range people {
		for _, channel := range notification.Channels() {
			text := address.Key(channel, person.Address(channel))
			if text == "" {
				continue
			}
			for _, hash := range s.AddressHashes(text) {
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
