package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres/postgrestest"
)

func TestRunScripts(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	scripts := []string{
		"CREATE TABLE said (text text); INSERT INTO said VALUES (current_setting('test.word'));",
		"INSERT INTO said VALUES ('and more')",
	}
	const hostile = "it's; DROP TABLE said"

	require.NoError(t, s.RunScripts(t.Context(), scripts, map[string]string{"test.word": hostile}))
	require.Equal(t, []string{"and more", hostile}, get[[]string](t, s, "SELECT array_agg(text ORDER BY text) FROM said"))
}

func TestRunScriptsAllOrNothing(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)

	err := s.RunScripts(t.Context(), []string{"CREATE TABLE said (text text)", "SELECT 1/0"}, nil)

	require.ErrorContains(t, err, "script 2")
	require.Equal(t, 0, get[int](t, s, "SELECT count(*) FROM pg_tables WHERE tablename = 'said'"))
}
