// Package dialects reads and marks outboxes in their own tables. A dialect is the form of such a
// table, and has one file. Each query is next to its method, or in its dialect.
package dialects

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/relay"
)

// Table is another service's outbox. It is safe for concurrent use.
type Table struct {
	pool    *pgxpool.Pool
	source  relay.Source
	dialect dialect
	name    pgx.Identifier // schema and table name
}

// usableTime reports whether a row's created_at is a time that Herald can store. A time outside
// is one that nobody set, such as the year 1, or infinity. The day at each end leaves room for
// time zones.
const usableTime = `created_at BETWEEN '1970-01-02' AND '9999-12-30'`

const (
	// defaultMaxConns leaves most connections to the service that owns the database.
	// pool_max_conns in the URL overrides it.
	defaultMaxConns  = 4
	connectTimeout   = 5 * time.Second
	statementTimeout = "30s"
	lockTimeout      = "1s" // for a row that its service locks
)

// Open returns a source's table with a separate connection pool. The caller closes it. It does
// not wait for the server: if the database is down, the first statement fails.
func Open(ctx context.Context, source relay.Source) (*Table, error) {
	if source.IsHerald() {
		source.Table = "event_outbox"
		return open(ctx, source, heralds)
	}
	if source.IsLifecycle() {
		return open(ctx, source, lifecycle)
	}
	dialect, known := byName[source.Dialect]
	if !known {
		return nil, fmt.Errorf("source %s: there is no dialect %q", source.Name, source.Dialect)
	}
	return open(ctx, source, dialect)
}

func open(ctx context.Context, source relay.Source, dialect dialect) (*Table, error) {
	config, err := pgxpool.ParseConfig(source.DatabaseURL)
	if err != nil {
		// the cause quotes the URL
		return nil,
			fmt.Errorf("source %s: its database URL is malformed: correct DATABASE_URL, or the variable that database_url_env names", source.Name)
	}
	if !strings.Contains(source.DatabaseURL, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.MaxConns += int32(source.Pollers) // each poller holds one while it reads
	config.MinConns = min(config.MinConns, config.MaxConns)
	config.ConnConfig.ConnectTimeout = connectTimeout
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "herald-source-" + source.Name
	params["statement_timeout"] = statementTimeout
	params["lock_timeout"] = lockTimeout
	params["idle_in_transaction_session_timeout"] = statementTimeout
	params["client_encoding"] = "UTF8"
	params["datestyle"] = "ISO" // the format of cursors
	params["timezone"] = zone(source)
	params["plan_cache_mode"] = "force_custom_plan" // a generic plan would sort the whole backlog for each page
	params["enable_seqscan"] = "off"                // pages are read by key, even while the table is small: it grows
	params["jit"] = "off"                           // Postgres would compile the query of a page without an index, which takes 0.4 s
	config.AfterRelease = writable
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("source %s: open its database: %w", source.Name, err)
	}
	return &Table{pool, source, dialect, strings.Split(source.Table, ".")}, nil
}

// writable reports whether the server took writes at its last answer. The pool closes other connections,
// because a new connection may lead to a new primary.
func writable(conn *pgx.Conn) bool {
	reported := conn.PgConn().ParameterStatus
	return reported("in_hot_standby") != "on" && reported("default_transaction_read_only") != "on"
}

// zone returns the session's time zone, which Postgres applies to timestamps without a zone.
func zone(source relay.Source) string {
	if source.Zone == nil {
		return "UTC"
	}
	return source.Zone.String()
}

// Close closes all connections. It waits for running statements.
func (t *Table) Close() { t.pool.Close() }

// sql returns a dialect's statement for this table.
func (t *Table) sql(statement string) string {
	return strings.ReplaceAll(statement, "{table}", t.name.Sanitize())
}

// wrap adds to an error what was done to the table; nil stays nil.
func (t *Table) wrap(err error, doing string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("source %s: %s %s: %w", t.source.Name, doing, t.source.Table, err)
}
