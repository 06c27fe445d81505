package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A command with another secret than the installation's would look for addresses by hashes
// that nobody has written: it changes nothing, and says so. The commands that need no tables
// run all the same.
func TestStarterHasTheSecretOfTheInstallation(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.environment["HERALD_SECRET"] = "one secret of an installation, 1"
	c.must(t, "event", "list")
	c.environment["HERALD_SECRET"] = "one secret of an installation, 2"
	got := c.run(t, "event", "list")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "HERALD_SECRET is not the one that this database has known since")
	require.Contains(t, got.err, "next: set it in the environment")
	c.must(t, "migrate", "status")

	delete(c.environment, "HERALD_SECRET")
	c.must(t, "event", "list")
}
