package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/outbox"
)

// InsertEvents writes events as a business service would, all of them or none. Where
// the table refuses one, the error is an [outbox.RefusedError].
func (s *Store) InsertEvents(ctx context.Context, events []outbox.Event) error {
	return pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error { return outbox.Insert(ctx, tx, events...) })
}
