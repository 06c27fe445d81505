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

// Addition is an index or a trigger that a table lacks.
type Addition struct {
	Name      string `json:"name"`
	Statement string `json:"statement"` // creates it

	what     string // such as: index on status, created_at
	halfDone bool   // an interrupted run left the index: Postgres keeps it but does not use it
}

// Additions returns the indexes and triggers that the table lacks for its dialect.
func (t *Table) Additions(ctx context.Context) ([]Addition, error) {
	r, err := t.relation(ctx)
	if err != nil {
		return nil, err
	}
	return t.additions(r), nil
}

func (t *Table) additions(r relation) []Addition {
	missing := t.missingIndexes(r)
	for _, need := range t.dialect.triggers {
		if !slices.Contains(r.triggers, need.function) {
			missing = append(missing, Addition{
				Name:      lifecycleTrigger + " on " + need.table,
				Statement: fmt.Sprintf("CREATE TRIGGER %s AFTER %s ON %s FOR EACH ROW %s", lifecycleTrigger, need.after, need.table, need.do()),
				what:      "trigger on " + need.table,
			})
		}
	}
	return missing
}

func (t *Table) missingIndexes(r relation) []Addition {
	var missing []Addition
	for _, need := range t.dialect.indexes {
		if t.source.Retention > 0 && need.finds {
			need.partialOn = ""
		}
		if slices.ContainsFunc(r.indexes, func(i tableIndex) bool { return i.serves(need) }) {
			continue
		}
		name, columns := t.indexName(need), strings.Join(need.columns, ", ")
		missing = append(missing, Addition{
			Name: name,
			Statement: fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON %s (%s)%s", pgx.Identifier{name}.Sanitize(), t.name.Sanitize(), columns,
				need.where),
			what:     "index on " + columns,
			halfDone: slices.ContainsFunc(r.indexes, func(i tableIndex) bool { return i.Name == name && !i.Valid }),
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

// Add creates indexes and triggers, and reports each at its start. It blocks no writers while it
// builds an index, which takes long on a large table.
func (t *Table) Add(ctx context.Context, missing []Addition, begun func(Addition)) error {
	pooled, err := t.pool.Acquire(ctx)
	if err != nil {
		return t.wrap(err, "migrate")
	}
	conn := pooled.Hijack() // it has a lock and no time-out, so it must not return to the pool
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := t.lock(ctx, conn); err != nil {
		return t.wrap(err, "migrate")
	}
	for _, addition := range missing {
		begun(addition)
		if err := t.create(ctx, conn, addition); err != nil {
			return t.wrap(err, "create "+addition.Name+" of")
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

func (t *Table) create(ctx context.Context, conn *pgx.Conn, i Addition) error {
	if i.halfDone {
		if _, err := conn.Exec(ctx, "DROP INDEX CONCURRENTLY "+append(slices.Clone(t.name[:len(t.name)-1]), i.Name).Sanitize()); err != nil {
			return err
		}
	}
	_, err := conn.Exec(ctx, i.Statement)
	var refused *pgconn.PgError
	const duplicateTable = "42P07"
	if errors.As(err, &refused) && refused.Code == duplicateTable {
		return fmt.Errorf("its name is taken by an index on other columns; create it under another name: %w", err)
	}
	return err
}
