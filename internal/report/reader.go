// Package report answers operators' questions: one event or one delivery in full, counts, and
// what the rules and the directory hold. It writes nothing, and it reads no address and no text
// of a notification.
package report

import (
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/db"
)

// Reader reads Herald's tables for operators. It is safe for concurrent use.
type Reader struct {
	Pool *pgxpool.Pool
}

// queueRows adds a query whose columns are the fields of T.
func queueRows[T any](batch *pgx.Batch, into *[]T, query string, params ...any) {
	db.QueueInto(batch, into, pgx.RowToStructByName, query, params...)
}

// queueRow adds a query for at most one row; nil: there is none.
func queueRow[T any](batch *pgx.Batch, into **T, query string, params ...any) {
	batch.Queue(query, params...).Query(func(rows pgx.Rows) (err error) {
		*into, err = pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
		return db.IgnoreNoRows(err)
	})
}
