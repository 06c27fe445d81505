package check_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/check"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
	"herald/migrations"
)

// A server that refuses the password is there.
func TestWrongPassword(t *testing.T) {
	t.Parallel()

	address, err := url.Parse(postgrestest.New(t).Pool.Config().ConnString())
	require.NoError(t, err)
	address.User = url.UserPassword(address.User.Username(), "verywrong")
	db, err := postgres.Open(t.Context(), address.String(), "herald-test")
	require.NoError(t, err)
	defer db.Close()

	schema, usable := check.Schema(t.Context(), db, migrations.FS)
	require.False(t, usable)
	found := (&check.Check{Subjects: []check.Subject{schema}}).Run(t.Context()).Mistakes
	require.Len(t, found, 1)
	require.Equal(t, "the database refuses the login: SQLSTATE 28P01", found[0].Problem)
	require.Contains(t, found[0].Remedy, "the password in DATABASE_URL")
}
