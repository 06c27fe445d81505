package planner

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"herald/internal/address"
	"herald/internal/db"
	"herald/internal/notification"
)

// AddressHolders reads which recipients of an event have deliveries to the addresses of people, on
// channels whose routes tell each address once. It sets the hashes of these addresses in people.
func (s Store) AddressHolders(
	ctx context.Context, setup notification.EventSetup, people []notification.Recipient,
) (notification.AddressHolders, error) {
	const query = `
		SELECT n.channel, encode(n.address_hash, 'hex'), n.user_type, n.user_id
		FROM   unnest($2::text[], $3::text[]) AS a (channel, hash)
		JOIN   notification n ON (n.event_id, n.channel, n.address_hash) = ($1, a.channel, decode(a.hash, 'hex'))`

	var channels, hashes []string
	for i := range people {
		people[i].AddressHashes = addressHashes(setup.Routing, people[i])
		for channel, hash := range people[i].AddressHashes {
			channels, hashes = append(channels, string(channel)), append(hashes, hash)
		}
	}
	holders := notification.AddressHolders{}
	if channels == nil {
		return holders, nil
	}
	var address notification.HeldAddress
	var holder notification.RecipientKey
	err := db.Each(ctx, s.Pool, "read who gets the messages at addresses",
		[]any{&address.Channel, &address.Hash, &holder.UserType, &holder.UserID},
		func() { holders[address] = holder }, query, setup.Event.ID, channels, hashes)
	return holders, err
}

// addressHashes returns the hashes of a recipient's addresses on the channels of routes that tell each
// address once.
func addressHashes(routes []notification.Routing, recipient notification.Recipient) map[notification.Channel]string {
	hashes := map[notification.Channel]string{}
	for _, route := range routes {
		if text := recipient.Address(route.Channel); route.OncePerAddress && text != "" {
			hash := sha256.Sum256([]byte(address.Key(route.Channel, text)))
			hashes[route.Channel] = hex.EncodeToString(hash[:16])
		}
	}
	return hashes
}
