package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSeed(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	require.Contains(t, c.must(t, "seed"), "in place")
	require.JSONEq(t, `{"seeded":true}`, c.must(t, "seed", "-o", "json"))
}

func TestCheckBaseURL(t *testing.T) {
	t.Parallel()

	for _, good := range []string{"http://127.0.0.1:9090", "https://hooks.slack.com"} {
		require.NoError(t, checkBaseURL(good), good)
	}
	for _, bad := range []string{"", "hooks.slack.com", "ftp://x", "http://", "http://x/", "http://x/services", "http://x?a=b", "http://me@x", "http://x:y:z", "http://\x7f"} {
		require.Error(t, checkBaseURL(bad), bad)
	}
}
