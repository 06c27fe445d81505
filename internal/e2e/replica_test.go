package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/stacktest"
)

// A worker and a gateway on a read replica end, and name the remedy. starter check names it too.
func TestReadReplica(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "DATABASE_URL="+standby(t))

	for name, w := range map[string]*worker{
		"worker":  s.launchWorker(),
		"gateway": s.launchGateway().worker,
	} {
		<-w.ended
		require.Error(t, w.err, name)
		require.Contains(t, w.output.String(), "set DATABASE_URL to the primary's address", name)
	}
	s.fails(1, "set DATABASE_URL to the primary's address", "check")
}

// standby returns the address of a Postgres server that waits for the log of a primary.
func standby(t *testing.T) string {
	t.Helper()
	stack := stacktest.New(t)
	stack.Run(t, "up", "postgres")
	home, err := os.ReadFile(filepath.Join(stack.Dev, "run", "postgres.home"))
	require.NoError(t, err)
	stack.Run(t, "down", "postgres")
	require.NoError(t, os.WriteFile(filepath.Join(strings.TrimSpace(string(home)), "data", "standby.signal"), nil, 0o600))
	stack.Run(t, "up", "postgres")
	return stack.Settings(t)["DATABASE_URL"]
}
