// Package gateway holds what a gateway reads and writes, as a database role that may read no
// address and no e-mail.
package gateway

import (
	"context"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/person"
	"herald/internal/planner"
)

// Store reads and writes the tables of the gateway. It is safe for concurrent use.
type Store struct {
	*db.DB
}

// Open returns a store for browsers, and a second one for webhooks and unsubscribing with a
// quarter as many connections. So signed-in people cannot keep out a receipt or a STOP.
func Open(ctx context.Context, url string) (browsers, webhooks *Store, err error) {
	one, two, err := db.OpenBoth(ctx, url, "herald-gateway", "herald-webhooks", 1, 4, false)
	return &Store{one}, &Store{two}, err
}

// TypeSetup reads the rules of an event type.
func (s *Store) TypeSetup(ctx context.Context, eventType string) (notification.EventSetup, error) {
	return planner.On(s.DB).TypeSetup(ctx, eventType)
}

// People reads the people of the directory.
func (s *Store) People(ctx context.Context) ([]notification.Person, error) {
	return person.On(s.DB).People(ctx)
}
