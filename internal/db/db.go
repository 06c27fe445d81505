// Package postgres is Herald's store. Each query is next to the method that runs it.
package db

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"herald/internal/notification"
)

// Store reads and writes Herald's tables. It is safe for concurrent use.
type DB struct {
	Pool *pgxpool.Pool
	// AddressHash hashes an address for recipient_suppression, as
	// address.Key spells it. Nil: this process has no HERALD_SECRET, and
	// suppresses nothing.
	AddressHash func(address string) []byte
	Fingerprint string                  // of the secret behind AddressHash
	PreviousKey notification.AddressKey // of HERALD_SECRET_PREVIOUS
}

const (
	// defaultMaxConns is enough for the slots of a worker: its statements take a few
	// milliseconds each. pool_max_conns in the URL overrides it.
	defaultMaxConns = 20
	connectTimeout  = 5 * time.Second
)

// Open returns a store over a pool of connections to url. It does not wait for the server:
// if the database is down, the first statement fails.
func Open(ctx context.Context, url, applicationName string) (*DB, error) {
	return open(ctx, url, applicationName, 1, false, &newest{})
}

// OpenTwo returns two stores for a process that runs the same statements all the time. Each
// has half of the connections, so that neither can use up the other's. Their connections
// keep the plans of statements, so these plans must also suit a table that grows. They use
// an index where there is one, however few rows there are at planning.
func OpenTwo(ctx context.Context, url, firstName, secondName string) (first, second *DB, err error) {
	return OpenBoth(ctx, url, firstName, secondName, 2, 2, true)
}

// OpenBoth opens two stores. The first store gets all connections divided by one, the second store
// all connections divided by two.
func OpenBoth(ctx context.Context, url, firstName, secondName string, one, two int32, usesIndexes bool) (first, second *DB, err error) {
	seen := &newest{}
	if first, err = open(ctx, url, firstName, one, usesIndexes, seen); err != nil {
		return nil, nil, err
	}
	if second, err = open(ctx, url, secondName, two, usesIndexes, seen); err != nil {
		first.Close()
		return nil, nil, err
	}
	return first, second, nil
}

// open opens one of several stores. It switches the compilation of statements off: all are
// short, and without enable_seqscan a statement without an index looks expensive. seen belongs to all
// stores of the process.
func open(ctx context.Context, url, applicationName string, stores int32, usesIndexes bool, seen *newest) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errors.New("DATABASE_URL cannot be read: correct its parameters, such as pool_max_conns") // the cause quotes the URL
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = defaultMaxConns
	}
	config.MaxConns = max(1, config.MaxConns/stores)
	config.MinConns = min(config.MinConns, config.MaxConns)
	config.ConnConfig.ConnectTimeout = connectTimeout
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = applicationName
	params["statement_timeout"] = "30s"
	params["idle_in_transaction_session_timeout"] = "30s"
	params["jit"] = "off"
	if usesIndexes {
		params["enable_seqscan"] = "off"
	}
	useNewestPrimary(config, seen)
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, Wrap(err, "open database")
	}
	return &DB{Pool: pool}, nil
}

// Close ends all connections, after the running statements.
func (s *DB) Close() { s.Pool.Close() }

// Ready returns nil if the database answers, has its schema and takes writes.
func (s *DB) Ready(ctx context.Context) error {
	const query = "SELECT current_setting('transaction_read_only')::boolean OR EXISTS (SELECT FROM delivery_attempt LIMIT 0)"
	readOnly, err := One(ctx, s.Pool, "database", pgx.RowTo[bool], query)
	if err == nil && readOnly {
		return errReadOnly
	}
	return err
}

// Exec runs a statement that returns nothing.
func (s *DB) Exec(ctx context.Context, doing, query string, args ...any) error {
	_, err := s.Pool.Exec(ctx, query, args...)
	return Wrap(err, doing)
}

// These codes mean that the server answers, but wants another user or password.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	invalidAuthorization = "28000"
	invalidPassword      = "28P01"
)

// LoginRefused reports whether the server answered, and refused the user or the password.
func LoginRefused(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains([]string{invalidAuthorization, invalidPassword}, refused.Code)
}

// ConnectRemedy returns what to do about a connection error.
func ConnectRemedy(err error) string {
	if LoginRefused(err) {
		return "correct the user and the password in DATABASE_URL; special characters in them are percent-encoded"
	}
	return "start Postgres, or set DATABASE_URL to its address"
}

// Now returns the database's time, which alone decides how old rows are.
func (s *DB) Now(ctx context.Context) (time.Time, error) {
	return One(ctx, s.Pool, "read the database's clock", pgx.RowTo[time.Time], "SELECT now()")
}
