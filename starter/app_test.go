package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/terminal"
)

// shell runs commands as an operator does, with an environment and a standard input.
type shell struct {
	environment map[string]string
	in          string
}

// unreachable is an address without a server.
const unreachable = "127.0.0.1:1"

// withDatabase returns a shell with a new migrated database. Its Temporal is out of reach.
func withDatabase(t *testing.T) shell {
	t.Helper()
	return shell{environment: map[string]string{"DATABASE_URL": postgrestest.URL(t), "TEMPORAL_ADDRESS": unreachable}}
}

type printed struct {
	code     int
	out, err string
}

func (c shell) run(t *testing.T, args ...string) printed {
	t.Helper()
	var out, problems bytes.Buffer
	a := &app{Output: terminal.Output{Out: &out, Err: &problems}, in: strings.NewReader(c.in), environment: c.environment}
	code := a.run(t.Context(), args)
	return printed{code: code, out: out.String(), err: problems.String()}
}

// must runs a command that must succeed, and returns its output.
func (c shell) must(t *testing.T, args ...string) string {
	t.Helper()
	got := c.run(t, args...)
	require.Equal(t, succeeded, got.code, got.err)
	return got.out
}

// fails runs a command that must end with the code, and with the text in its error.
func (c shell) fails(t *testing.T, code int, text string, args ...string) printed {
	t.Helper()
	got := c.run(t, args...)
	require.Equal(t, code, got.code, "%q: %s", args, got.err)
	require.Contains(t, got.err, text, args)
	return got
}

// exec runs SQL on the shell's database directly, without a command.
func (c shell) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	must(c.store(t).Pool.Exec(t.Context(), sql, args...))(t)
}

// store opens the shell's database.
func (c shell) store(t *testing.T) *db.DB {
	t.Helper()
	db := must(db.Open(t.Context(), c.environment["DATABASE_URL"], "test"))(t)
	t.Cleanup(db.Close)
	return db
}

// read runs a command that must succeed, and decodes the JSON that it prints.
func read[T any](t *testing.T, c shell, args ...string) (value T) {
	t.Helper()
	printed := c.must(t, append(args, "-o", "json")...)
	requireNothingSecret(t, printed)
	require.NoError(t, json.Unmarshal([]byte(printed), &value))
	return value
}

// table returns a printer's output for a terminal.
func table(t *testing.T, print func(w io.Writer)) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, (&terminal.Output{Out: &out}).Print(nil, print))
	return out.String()
}

// must returns the value of a call, and fails the test if the call failed.
func must[T any](value T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		require.NoError(t, err)
		return value
	}
}
