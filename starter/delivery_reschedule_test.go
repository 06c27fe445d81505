package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestNewTime(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		at   string
		in   time.Duration
		want time.Time // zero: it is refused
	}{
		{name: "a time in another zone", at: "2026-11-21T09:00:01+01:00", want: now.Add(time.Second)},
		{name: "a year ahead", at: "2027-11-21T08:00:00Z", want: now.Add(maxReschedule)},
		{name: "a duration", in: 36 * time.Hour, want: now.Add(36 * time.Hour)},
		{name: "neither"},
		{name: "both", at: "2026-11-22T08:00:00Z", in: time.Hour},
		{name: "now", at: "2026-11-21T08:00:00Z"},
		{name: "beyond a year", at: "2027-11-21T08:00:01Z"},
		{name: "no time", at: "tomorrow"},
		{name: "a duration beyond a year", in: 366 * 24 * time.Hour},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			got, err := newTime(tt.at, tt.in, now)

			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want.IsZero(), err != nil)
		})
	}
}
