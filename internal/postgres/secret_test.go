package postgres_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// Of processes that start at once with different secrets, exactly one wins.
func TestProcessesAgreeOnASecret(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.NoError(t, s.AgreeOnSecret(t.Context(), ""), "nobody has one")
	var starting sync.WaitGroup
	var agreed atomic.Value
	var winners atomic.Int64
	for _, fingerprint := range []string{"a", "b", "c", "d", "e", "f"} {
		starting.Go(func() {
			if s.AgreeOnSecret(t.Context(), fingerprint) == nil {
				agreed.Store(fingerprint)
				winners.Add(1)
			}
		})
	}
	starting.Wait()
	require.EqualValues(t, 1, winners.Load())

	require.NoError(t, s.AgreeOnSecret(t.Context(), agreed.Load().(string)), "a restart")
	var changed *postgres.SecretChangedError
	require.ErrorAs(t, s.AgreeOnSecret(t.Context(), "another"), &changed)
	require.ErrorContains(t, changed, "HERALD_SECRET is not the one")
	require.ErrorContains(t, s.AgreeOnSecret(t.Context(), ""), "HERALD_SECRET is not set, but this database has known one since")
	_, err := s.Pool.Exec(t.Context(), "DELETE FROM herald_secret")
	require.NoError(t, err)
	require.NoError(t, s.AgreeOnSecret(t.Context(), "another"), "as the table's comment says")
}
