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
		var age Age
		require.NoError(t, age.Set(value), value)
		require.Equal(t, want, age.Duration, value)
		require.Equal(t, value, age.String())
	}
	for _, value := range []string{"", "0s", "0d", "-1h", "1d-1h", "d", "7", "99999999d", "40000d", "2562047h", "1d2d", "7D"} {
		require.ErrorIs(t, new(Age).Set(value), errNoAge, value)
	}
}

func TestPastTime(t *testing.T) {
	t.Parallel()

	var at PastTime
	require.NoError(t, at.Set("2026-11-21T09:00:00+01:00"))
	require.True(t, time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC).Equal(at.Time), at.Time)

	require.NoError(t, at.Set("1d12h"))
	require.WithinDuration(t, time.Now().Add(-36*time.Hour), at.Time, time.Minute)
	require.Equal(t, "1d12h", at.String())

	for _, value := range []string{"", "yesterday", "21.11.2026", "-1h"} {
		require.ErrorIs(t, new(PastTime).Set(value), errNoTime, value)
	}
	require.ErrorContains(t, new(PastTime).Set(time.Now().Add(time.Minute).Format(time.RFC3339)), "future")
}
