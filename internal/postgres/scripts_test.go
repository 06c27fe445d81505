package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

func approve(context.Context, map[string]int) error { return nil }

func TestRunScripts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	scripts := []string{
		"CREATE TABLE said (text text); INSERT INTO said VALUES (current_setting('test.word'));",
		"INSERT INTO said VALUES ('and more')",
	}
	const hostile = "it's; DROP TABLE said"

	require.NoError(t, s.RunScripts(t.Context(), scripts, map[string]string{"test.word": hostile}, approve))
	require.Equal(t, []string{"and more", hostile}, get[[]string](t, s, "SELECT array_agg(text ORDER BY text) FROM said"))
}

func TestRunScriptsAllOrNothing(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)

	err := s.RunScripts(t.Context(), []string{"CREATE TABLE said (text text)", "SELECT 1/0"}, nil, approve)

	require.ErrorContains(t, err, "script 2")
	require.Equal(t, 0, get[int](t, s, "SELECT count(*) FROM pg_tables WHERE tablename = 'said'"))
}

// Changed rows are counted, added rows are not. An error of confirm takes all back.
func TestRunScriptsConfirmed(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, "INSERT INTO recipient (user_type, user_id) VALUES ('ADMIN', '1'), ('ADMIN', '2'), ('ADMIN', '3')")
	exec(t, s, "UPDATE recipient SET name = 'before'") // by the same session, perhaps
	scripts := []string{
		"UPDATE recipient SET name = 'x' WHERE user_id = '1'; DELETE FROM recipient WHERE user_id = '2'",
		"INSERT INTO recipient (user_type, user_id) VALUES ('ADMIN', '4')",
	}
	no := errors.New("no")
	var told map[string]int
	err := s.RunScripts(t.Context(), scripts, nil, func(_ context.Context, changed map[string]int) error {
		told = changed
		return no
	})
	require.ErrorIs(t, err, no)
	require.Equal(t, map[string]int{"recipient": 2}, told)
	require.Equal(t, 3, get[int](t, s, "SELECT count(*) FROM recipient WHERE name = 'before'"))
}
