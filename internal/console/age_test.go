package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAge(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "1d1h30m": 25*time.Hour + 30*time.Minute, "0.5h": 30 * time.Minute,
	} {
		age, err := parseAge(value)
		require.NoError(t, err, value)
		require.Equal(t, want, age, value)
	}
	for _, value := range []string{"", "0s", "0d", "-1h", "1d-1h", "d", "7", "99999999d", "40000d", "2562047h", "1d2d", "7D"} {
		_, err := parseAge(value)
		require.ErrorIs(t, err, errNoAge, value)
	}
}

func TestPastTime(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Time{"2026-11-21T09:00:00+01:00": now, "1d12h": now.Add(-36 * time.Hour)} {
		at, err := parsePast(value, now)
		require.NoError(t, err)
		require.True(t, want.Equal(at), at)
	}
	for _, value := range []string{"", "yesterday", "21.11.2026", "-1h"} {
		_, err := parsePast(value, now)
		require.ErrorIs(t, err, errNoTime, value)
	}
	_, err := parsePast("2026-11-21T08:00:01Z", now)
	require.ErrorContains(t, err, "future")
}
