package channel_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

func TestRetryAfter(t *testing.T) {
	t.Parallel()

	tests := []struct {
		header string
		want   time.Duration
	}{
		{"", 0},
		{" ", 0},
		{"soon", 0},
		{"-1", 0},
		{"+1", 0},
		{"1.5", 0},
		{"1s", 0},
		{"1_000", 0},
		{"0x10", 0},
		{"0", time.Second},
		{"1", time.Second},
		{" 30 ", 30 * time.Second},
		{"007", 7 * time.Second},
		{"900", 15 * time.Minute},
		{"901", 15 * time.Minute},
		{"4294967296", 15 * time.Minute},
		{"99999999999999999999999999", 15 * time.Minute},
		{"Sat, 21 Nov 2026 12:00:30 GMT", 30 * time.Second},
		{"Saturday, 21-Nov-26 12:00:30 GMT", 30 * time.Second},
		{"Sat Nov 21 12:00:30 2026", 30 * time.Second},
		{"Sat, 21 Nov 2026 11:00:00 GMT", time.Second},
		{"Sat, 21 Nov 2026 13:00:00 GMT", 15 * time.Minute},
		{"Fri, 31 Dec 9999 23:59:59 GMT", 15 * time.Minute},
		{"Mon, 01 Jan 0001 00:00:00 GMT", time.Second},
		{"2026-11-21T12:00:30Z", 0},
	}
	for _, tt := range tests {
		t.Run(tt.header, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, channel.RetryAfter(tt.header, noon))
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"", "0", "30", "-1", "18446744073709551616", noon.Format(http.TimeFormat), "soon"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		wait := channel.RetryAfter(header, noon)
		if wait != 0 {
			require.GreaterOrEqual(t, wait, time.Second)
			require.LessOrEqual(t, wait, 15*time.Minute)
		}
	})
}
