// Package postgrestest gives each test its own migrated database. So tests run in parallel
// against a real server and need no cleaning.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/db"
)

const (
	// timeout limits the creation of a database, and the wait for another process that
	// makes the template.
	timeout = 5 * time.Minute
	// maxConns keeps many parallel tests under the server's max_connections.
	maxConns = "8"
)

// RunVariable names the run of `make test` that a test belongs to. The run drops its
// databases together, by [DropRun], when it ends. Dropping one database costs a checkpoint
// and removes some 600 files. For a minute after that, a file system may create the next
// files slowly. Without a run, a test drops its database when it ends.
const RunVariable = "HERALD_TEST_RUN"

func prefix(run string) string {
	if run == "" {
		return "herald_test_"
	}
	return "herald_test_" + run + "_"
}

// New returns a store over a new database for the test. The database contains only the
// rows of the migrations, and is dropped at the time that [RunVariable] explains.
func New(t testing.TB) *db.DB {
	t.Helper()
	store, err := db.Open(context.Background(), URL(t), "test")
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store
}

// URL returns a DATABASE_URL for [db.Open], with a new database as in [New].
func URL(t testing.TB) string {
	t.Helper()
	server := os.Getenv("DATABASE_URL")
	if server == "" {
		t.Fatal("DATABASE_URL is not set: run make test")
	}
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	run := os.Getenv(RunVariable)
	name := prefix(run) + rand.Text()
	require.NoError(t, onServer(ctx, server, func(conn *pgx.Conn) error {
		template, err := ensureTemplate(ctx, conn, server)
		if err == nil {
			_, err = conn.Exec(ctx, fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s", quote(name), quote(template)))
		}
		return err
	}))
	t.Cleanup(func() {
		if run != "" {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		defer cancel()
		require.NoError(t, onServer(ctx, server, func(conn *pgx.Conn) error { return drop(ctx, conn, name) }))
	})
	return urlOf(server, name, maxConns)
}

// onServer connects to the server for one call.
func onServer(ctx context.Context, server string, do func(*pgx.Conn) error) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("reach the server of DATABASE_URL: %w", err)
	}
	defer func() { _ = conn.Close(ctx) }()
	return do(conn)
}

func drop(ctx context.Context, conn *pgx.Conn, name string) error {
	_, err := conn.Exec(ctx, "DROP DATABASE "+quote(name)+" WITH (FORCE)")
	return err
}

// DropRun drops the databases of a run.
func DropRun(ctx context.Context, server, run string) error {
	return onServer(ctx, server, func(conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", prefix(run)) // CollectRows returns its error
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, name := range names {
			if err = drop(ctx, conn, name); err != nil {
				break
			}
		}
		return err
	})
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

// urlOf returns the server's URL with another database and a limited pool.
func urlOf(server, database, poolSize string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server // a connection string in another form, which pgx has parsed before
	}
	u.Path = "/" + database
	query := u.Query()
	query.Set("pool_max_conns", poolSize)
	u.RawQuery = query.Encode()
	return u.String()
}
