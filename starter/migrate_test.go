package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/migrate"
)

func TestMigrate(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	status := func() []migrate.Status { return read[[]migrate.Status](t, c, "migrate", "status") }
	all := status()
	require.NotEmpty(t, all)
	newest := all[len(all)-1]
	require.True(t, newest.Applied)
	require.Contains(t, c.must(t, "migrate", "up"), "nothing to apply")

	c.fails(t, calledWrong, "and delete the data in its tables and columns; repeat with --yes to do it", "migrate", "down")
	require.Equal(t, all, status())
	require.Contains(t, c.must(t, "migrate", "down", "--yes"), "reverted  "+newest.Name)
	require.False(t, status()[len(all)-1].Applied)
	require.Regexp(t, newest.Name+" +missing", c.must(t, "migrate", "status"))
	require.Contains(t, c.must(t, "migrate", "up"), "applied  "+newest.Name)

	for status()[4].Applied { // it creates the table delivery_retry
		c.must(t, "migrate", "down", "--yes")
	}
	c.fails(t, failed, "next: run `starter migrate up`", "delivery", "show", "evt-1-staff10-EMAIL")

	for read[map[string]string](t, c, "migrate", "down", "--yes")["taken_back"] != "" {
	}
	require.Contains(t, c.must(t, "migrate", "down", "--yes"), "nothing to revert")
	require.Contains(t, c.must(t, "migrate", "up"), fmt.Sprintf("created Herald's tables with %d migrations", len(all)))
	require.Equal(t, all, status())
}
