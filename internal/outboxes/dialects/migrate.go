package dialects

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Index is an index that a table lacks.
type Index struct {
	Name      string `json:"name"`
	Statement string `json:"statement"` // creates the index

	on       string // its columns
	halfDone bool   // an interrupted run left it: Postgres keeps it but does not use it
}

// MissingIndexes returns the indexes that the table lacks for its dialect.
func (t *Table) MissingIndexes(ctx context.Context) ([]Index, error) {
	r, err := t.relation(ctx)
	if err != nil {
		return nil, err
	}
	return t.missingIndexes(r), nil
}

func (t *Table) missingIndexes(r relation) []Index {
	var missing []Index
	for _, need := range t.dialect.indexes {
		if t.source.Retention > 0 && need.finds {
			need.partialOn = ""
		}
		if slices.ContainsFunc(r.indexes, func(i tableIndex) bool { return i.serves(need) }) {
			continue
		}
		name, columns := t.indexName(need), strings.Join(need.columns, ", ")
		missing = append(missing, Index{
			Name:      name,
			Statement: fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s (%s)%s", pgx.Identifier{name}.Sanitize(), t.name.Sanitize(), columns, need.where),
			on:        columns,
			halfDone:  slices.ContainsFunc(r.indexes, func(i tableIndex) bool { return i.Name == name && !i.Valid }),
		})
	}
	return missing
}

// maxName is the maximum length of a name in Postgres, in bytes.
const maxName = 63

// indexName returns the index name from the service's documents, with this table's name.
func (t *Table) indexName(need neededIndex) string {
	name := strings.Replace(need.name, "_outbox_", "_"+t.name[len(t.name)-1]+"_", 1)
	return name[:min(len(name), maxName)]
}

// ErrMigrating means that another process is creating the table's indexes.
var ErrMigrating = errors.New("another process is creating its indexes")

// CreateIndexes creates indexes without blocking writers, and reports each index at its start. On
// a large table this takes long.
func (t *Table) CreateIndexes(ctx context.Context, indexes []Index, begun func(Index)) error {
	pooled, err := t.pool.Acquire(ctx)
	if err != nil {
		return t.wrap(err, "create indexes of")
	}
	conn := pooled.Hijack() // it has a lock and no time-out, so it must not return to the pool
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := t.lock(ctx, conn); err != nil {
		return t.wrap(err, "create indexes of")
	}
	for _, i := range indexes {
		begun(i)
		if err := t.createIndex(ctx, conn, i); err != nil {
			return t.wrap(err, "create index "+i.Name+" of")
		}
	}
	return nil
}

// lock prevents two processes from building one index. It does not wait: a waiting statement
// holds a snapshot, and the index build would wait for that snapshot.
func (t *Table) lock(ctx context.Context, conn *pgx.Conn) error {
	var locked bool
	err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock(hashtext('herald source ' || $1))", t.source.Table).Scan(&locked)
	if err != nil {
		return err
	}
	if !locked {
		return ErrMigrating
	}
	_, err = conn.Exec(ctx, "SET statement_timeout = 0")
	return err
}

func (t *Table) createIndex(ctx context.Context, conn *pgx.Conn, i Index) error {
	if i.halfDone {
		if _, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY "+append(slices.Clone(t.name[:len(t.name)-1]), i.Name).Sanitize()); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, i.Statement)
	var refused *pgconn.PgError
	const duplicateTable = "42P07"
	if errors.As(err, &refused) && refused.Code == duplicateTable {
		return fmt.Errorf("its name is taken by an index on other columns; create it by another: %w", err)
	}
	return err
}
