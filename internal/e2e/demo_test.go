package e2e_test

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// The demo refuses the servers of others: it would send their pending events to the sandbox.
func TestDemoRefusesOtherServers(t *testing.T) {
	t.Parallel()

	for setting, value := range map[string]string{
		"DATABASE_URL": "postgres://herald@db.example.com/herald", "RABBITMQ_URL": "amqps://broker.example.com/", "TEMPORAL_ADDRESS": "temporal.example.com:7233",
	} {
		dev := t.TempDir()
		demo := exec.CommandContext(t.Context(), "../../tools/demo.sh")
		demo.Env = []string{"PATH=/usr/bin:/bin", "HERALD_DEV=" + dev, setting + "=" + value}

		said, err := demo.CombinedOutput()

		require.Error(t, err)
		require.Contains(t, string(said), setting+" names a server of yours")
		require.Contains(t, string(said), "(unset "+setting+"; make demo)")
		require.NotContains(t, string(said), "example.com", "an address may hold a password")
		require.NoDirExists(t, dev+"/postgres", "nothing was started")
	}
}
