// Package gateway holds what a gateway reads and writes, as a database role that may read no
// address and no e-mail.
package gateway

import (
	"context"

	"herald/internal/postgres"
)

// Store reads and writes the tables of the gateway. It is safe for concurrent use.
type Store struct {
	*postgres.Store
}

// Open returns a store for browsers, and a second one for webhooks and unsubscribing with a
// quarter as many connections. So signed-in people cannot keep out a receipt or a STOP.
func Open(ctx context.Context, url string) (browsers, webhooks *Store, err error) {
	one, two, err := postgres.OpenBoth(ctx, url, "herald-gateway", "herald-webhooks", 1, 4, false)
	return &Store{one}, &Store{two}, err
}
