package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"

	"herald/internal/config"
	"herald/internal/postgres"
)

// dialTimeout bounds the wait for a Temporal that does not answer.
const dialTimeout = 5 * time.Second

// unreachableError means that a server did not answer.
type unreachableError struct {
	what string
	next string
	err  error
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s is out of reach: %v", e.what, e.err)
}

func (e *unreachableError) Unwrap() error { return e.err }

// settingsError means that the environment is at fault.
type settingsError struct{ err error }

func (e *settingsError) Error() string { return e.err.Error() }

func (e *settingsError) Unwrap() error { return e.err }

func (a *app) settings() (config.Starter, error) {
	cfg, err := config.StarterFrom(a.environment)
	if err != nil {
		return config.Starter{}, &settingsError{err}
	}
	return cfg, nil
}

// store opens the database; the caller closes it.
func (a *app) store(ctx context.Context) (*postgres.Store, config.Starter, error) {
	cfg, err := a.settings()
	if err != nil {
		return nil, config.Starter{}, err
	}
	db, err := postgres.Open(ctx, string(cfg.DatabaseURL), "herald-starter")
	if err != nil {
		return nil, config.Starter{}, &settingsError{err}
	}
	return db, cfg, nil
}

// temporal connects to Temporal; the caller closes the client.
func (a *app) temporal(ctx context.Context) (client.Client, error) {
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(a.environment)})
	if err != nil {
		return nil, &settingsError{fmt.Errorf("read Temporal settings: %w", err)}
	}
	options.Logger = log.NewStructuredLogger(slog.New(slog.DiscardHandler)) // what matters is returned
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	temporal, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, &unreachableError{"Temporal", "start Temporal, or set TEMPORAL_ADDRESS to where it is", err}
	}
	return temporal, nil
}

// nextStep says what an operator can do about an error.
func (a *app) nextStep(err error) string {
	var unreachable *unreachableError
	var settings *settingsError
	var advised *advisedError
	var connect *pgconn.ConnectError
	var statement *pgconn.PgError
	var refused *postgres.RefusedEventError
	var late *serviceerror.DeadlineExceeded
	switch {
	case errors.As(err, &advised):
		return advised.next
	case errors.As(err, &refused):
		return "correct the event, or choose another --event-id, and run it again"
	case errors.As(err, &unreachable):
		return unreachable.next
	case errors.As(err, &settings):
		return "set it in the environment; for the local stack: eval \"$(make -s env)\""
	case errors.As(err, &connect):
		return "start Postgres, or set DATABASE_URL to where it is"
	case errors.As(err, &statement) && slices.Contains([]string{undefinedTable, undefinedColumn}, statement.Code):
		return "run `starter migrate up`"
	case errors.Is(err, context.Canceled):
		return "it was interrupted; run it again"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late):
		return "it took too long; see `starter status`, then run it again"
	default:
		return ""
	}
}

// Codes of a schema that is not the one we know.
// https://www.postgresql.org/docs/current/errcodes-appendix.html
const (
	undefinedTable  = "42P01"
	undefinedColumn = "42703"
)

// advisedError is an error with what to do about it.
type advisedError struct {
	err  error
	next string
}

func (e *advisedError) Error() string { return e.err.Error() }

func (e *advisedError) Unwrap() error { return e.err }

func advise(err error, next string) error { return &advisedError{err, next} }

// lookup is an environment for envconfig.
type lookup map[string]string

// Environ returns lines NAME=value.
func (l lookup) Environ() []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		lines = append(lines, name+"="+l[name])
	}
	return lines
}

// LookupEnv returns one variable.
func (l lookup) LookupEnv(name string) (string, bool) {
	value, ok := l[name]
	return value, ok
}
