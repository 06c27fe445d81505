// Package report reads what operators ask: lists, one event or one delivery in
// full, counts, and who changed what. It writes nothing, and it reads no address
// and no text of a notification.
package report

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reader reads Herald's tables for operators. It is safe for concurrent use.
type Reader struct {
	Pool *pgxpool.Pool
}

// list reads rows whose columns are the fields of T. What it reads is named in the
// error.
func list[T any](ctx context.Context, r Reader, what, query string, params ...any) ([]T, error) {
	rows, err := r.Pool.Query(ctx, query, params...)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	found, err := pgx.AppendRows([]T{}, rows, pgx.RowToStructByName[T])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return found, nil
}

// latestIDs reads up to $2 ids that begin with $1, for the completion of a command
// line.
func (r Reader) latestIDs(ctx context.Context, what, query, prefix string, limit int) ([]string, error) {
	rows, err := r.Pool.Query(ctx, query, prefix, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return ids, nil
}

// optional is null for a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// queueRows adds a query whose columns are the fields of T.
func queueRows[T any](batch *pgx.Batch, into *[]T, query string, params ...any) {
	batch.Queue(query, params...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectRows(rows, pgx.RowToStructByName[T])
		return err
	})
}

// queueRow adds a query for at most one row, which is nil where there is none.
func queueRow[T any](batch *pgx.Batch, into **T, query string, params ...any) {
	batch.Queue(query, params...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
		if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return err
	})
}
