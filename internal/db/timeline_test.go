package db

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestNewest(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		seen   []place
		asked  place
		behind bool
	}{
		"nothing is known":               {asked: place{"a", 3}},
		"the same primary":               {seen: []place{{"a", 3}}, asked: place{"a", 3}},
		"a standby that was promoted":    {seen: []place{{"a", 3}}, asked: place{"a", 4}},
		"the former primary":             {seen: []place{{"a", 3}, {"a", 4}}, asked: place{"a", 3}, behind: true},
		"a late answer of the former":    {seen: []place{{"a", 4}, {"a", 3}}, asked: place{"a", 3}, behind: true},
		"without rights for the cluster": {seen: []place{{"", 4}}, asked: place{"", 3}, behind: true},
		"a replica has no place":         {seen: []place{{"a", 4}}},
		"the database moved":             {seen: []place{{"a", 4}}, asked: place{"b", 1}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var n newest
			for _, seen := range tt.seen {
				n.see(seen)
			}
			require.Equal(t, tt.behind, n.behind(tt.asked))
		})
	}
}

// Once a process has seen a newer timeline, it uses no connection to the former primary, opens none, and
// says why.
func TestFormerPrimary(t *testing.T) {
	t.Parallel()

	seen := &newest{}
	s, err := open(t.Context(), os.Getenv("DATABASE_URL"), "test", 1, false, seen)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	const nothing = "SELECT"
	require.NoError(t, s.Exec(t.Context(), "ask", nothing))
	now := seen.see(place{})
	require.Positive(t, now.timeline)
	require.NotEmpty(t, now.cluster)
	require.EqualValues(t, 1, s.Pool.Stat().TotalConns())

	seen.see(place{now.cluster, now.timeline + 1})

	err = s.Exec(t.Context(), "ask", nothing)
	var stale *StaleError
	require.ErrorAs(t, err, &stale)
	require.Equal(t, StaleError{Timeline: now.timeline, Seen: now.timeline + 1}, *stale)
	require.ErrorContains(t, err, "former primary")
	require.Error(t, s.Ready(t.Context()))
	require.Zero(t, s.Pool.Stat().TotalConns(), "the old connection is closed")
}

// A role without special rights reads the place of its server.
func TestPlaceOf(t *testing.T) {
	t.Parallel()

	conn, err := pgx.Connect(t.Context(), os.Getenv("DATABASE_URL"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	_, err = conn.Exec(t.Context(), "SET ROLE pg_signal_backend")
	require.NoError(t, err)
	found, err := placeOf(t.Context(), conn.PgConn())
	require.NoError(t, err)
	require.Positive(t, found.timeline)

	_, err = conn.Exec(t.Context(), "SET search_path = ''; BEGIN; SELECT 1/0")
	require.Error(t, err)
	found, err = placeOf(t.Context(), conn.PgConn())
	require.NoError(t, err, "a server that cannot tell its place is used as before")
	require.Zero(t, found)
}
