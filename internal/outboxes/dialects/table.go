// Package dialects reads and marks outboxes in their own tables. A dialect is the form of
// such a table, and has one file. Each query is next to the method that runs it, or in its
// dialect.
package dialects

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/outboxes"
)

// Table is the outbox of another service. It is safe for concurrent use.
type Table struct {
	pool    *pgxpool.Pool
	source  outboxes.Source
	dialect dialect
	name    pgx.Identifier // its schema, and its own name
}

const (
	// defaultMaxConns leaves most of a database's connections to the service whose
	// database it is. pool_max_conns in the URL overrides it.
	defaultMaxConns  = 4
	connectTimeout   = 5 * time.Second
	statementTimeout = "30s"
	lockTimeout      = "1s" // for a row that its service holds
)

// Open returns a source's table over a pool of connections of its own; the caller closes
// it. It does not wait for the server: a database that is down is an error of the first
// statement.
func Open(ctx context.Context, source outboxes.Source) (*Table, error) {
	if source.IsHerald() {
		source.Table = "event_outbox"
		return open(ctx, source, heralds)
	}
	dialect, known := byName[source.Dialect]
	if !known {
		return nil, fmt.Errorf("source %s: there is no dialect %q", source.Name, source.Dialect)
	}
	return open(ctx, source, dialect)
}

func open(ctx context.Context, source outboxes.Source, dialect dialect) (*Table, error) {
	config, err := pgxpool.ParseConfig(source.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("source %s: the URL of its database cannot be read", source.Name) // the cause quotes it
	}
	if !strings.Contains(source.DatabaseURL, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.MaxConns += int32(source.Pollers) // each holds one while it reads
	config.MinConns = min(config.MinConns, config.MaxConns)
	config.ConnConfig.ConnectTimeout = connectTimeout
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "herald-source-" + source.Name
	params["statement_timeout"] = statementTimeout
	params["lock_timeout"] = lockTimeout
	params["idle_in_transaction_session_timeout"] = statementTimeout
	params["client_encoding"] = "UTF8"
	params["datestyle"] = "ISO" // of cursors
	params["timezone"] = zone(source)
	params["plan_cache_mode"] = "force_custom_plan" // a plan for any cursor sorts the whole backlog for each page
	params["enable_seqscan"] = "off"                // a page is read by its keys, also where its table is small by now: it grows
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("source %s: open its database: %w", source.Name, err)
	}
	return &Table{pool, source, dialect, strings.Split(source.Table, ".")}, nil
}

// zone is that of the session: Postgres reads timestamps without a zone by it, and writes
// them so.
func zone(source outboxes.Source) string {
	if source.Zone == nil {
		return "UTC"
	}
	return source.Zone.String()
}

// Close ends all connections; it waits for the statements that are running.
func (t *Table) Close() { t.pool.Close() }

// sql is a dialect's statement over this table.
func (t *Table) sql(statement string) string {
	return strings.ReplaceAll(statement, "{table}", t.name.Sanitize())
}

// wrap says what was being done to the table when an error came; nil stays nil.
func (t *Table) wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("source %s: %s %s: %w", t.source.Name, doing, t.source.Table, err)
}
