package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/postgres"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	status := func() []postgres.MigrationStatus {
		var statuses []postgres.MigrationStatus
		require.NoError(t, json.Unmarshal([]byte(c.must(t, "migrate", "status", "-o", "json")), &statuses))
		return statuses
	}
	all := status()
	require.NotEmpty(t, all)
	newest := all[len(all)-1]
	require.True(t, newest.Applied)
	require.Contains(t, c.must(t, "migrate", "up"), "nothing to apply")

	require.Contains(t, c.must(t, "migrate", "down"), "took back  "+newest.Name)
	require.False(t, status()[len(all)-1].Applied)
	require.Regexp(t, newest.Name+" +missing", c.must(t, "migrate", "status"))

	for status()[4].Applied { // which has the table of a delivery's retries
		c.must(t, "migrate", "down")
	}
	got := c.run(t, "delivery", "show", "evt-1-staff10-EMAIL")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "next: run `starter migrate up`")

	require.Contains(t, c.must(t, "migrate", "up"), "applied  "+newest.Name)
	require.Equal(t, all, status())
}

func TestMigrateDownToNothing(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	for {
		var down map[string]string
		require.NoError(t, json.Unmarshal([]byte(c.must(t, "migrate", "down", "-o", "json")), &down))
		if down["taken_back"] == "" {
			break
		}
	}
	require.Contains(t, c.must(t, "migrate", "down"), "nothing to take back")
}
