package address

import (
	"crypto/sha256"
	"encoding/hex"

	"herald/internal/notification"
)

// Identify gives people the hashes of their addresses on the channels of routes that compare
// addresses.
func Identify(routes []notification.Routing, people []notification.Recipient) {
	for i := range people {
		hashes := map[notification.Channel]string{}
		for _, route := range routes {
			if text := people[i].Address(route.Channel); route.OncePerAddress && text != "" {
				hash := sha256.Sum256([]byte(Key(route.Channel, text)))
				hashes[route.Channel] = hex.EncodeToString(hash[:16])
			}
		}
		people[i].AddressHashes = hashes
	}
}
