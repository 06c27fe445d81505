// Package report answers operators' questions: lists, one event or one delivery in full,
// counts, and who changed what. It writes nothing, and it reads no address and no text of a
// notification.
package report

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Reader reads Herald's tables for operators. It is safe for concurrent use.
type Reader struct {
	Pool *pgxpool.Pool
}

// list reads all rows of a query. An error names what it reads.
func list[T any](ctx context.Context, r Reader, what string, read pgx.RowToFunc[T], query string, params ...any) ([]T, error) {
	rows, _ := r.Pool.Query(ctx, query, params...) // AppendRows returns its error
	found, err := pgx.AppendRows([]T{}, rows, read)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	return found, nil
}

// one reads the first row of a query. An error names what it reads. If there is no row, the
// error is [pgx.ErrNoRows].
func one[T any](ctx context.Context, r Reader, what string, read pgx.RowToFunc[T], query string, params ...any) (T, error) {
	rows, _ := r.Pool.Query(ctx, query, params...) // CollectOneRow returns its error
	found, err := pgx.CollectOneRow(rows, read)
	if err != nil {
		err = fmt.Errorf("read %s: %w", what, err)
	}
	return found, err
}

// optional returns nil for a zero value.
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

// queueRow adds a query for at most one row; nil: there is none.
func queueRow[T any](batch *pgx.Batch, into **T, query string, params ...any) {
	batch.Queue(query, params...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
		return unlessNoRows(err)
	})
}
