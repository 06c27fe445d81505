package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/wiring"
)

// The printed lines turn Web Push on, and the two keys belong together.
func TestVAPIDKeys(t *testing.T) {
	t.Parallel()

	values := map[string]string{"WEBPUSH_SUBJECT": "mailto:herald@example.com"}
	for line := range strings.Lines(shell{}.must(t, "secret", "vapid")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	require.NotEmpty(t, values["WEBPUSH_VAPID_PUBLIC_KEY"])
	wired := wiring.New()
	require.NoError(t, config.SendersFrom(values, wired.Read))
	require.True(t, wired[notification.Push].All[1].On())
}
