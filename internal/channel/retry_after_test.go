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

	for want, headers := range map[time.Duration][]string{
		0:                {"", " ", "soon", "-1", "+1", "1.5", "1s", "1_000", "0x10", "2026-11-21T12:00:30Z"},
		time.Second:      {"0", "1", "Sat, 21 Nov 2026 11:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 GMT"},
		7 * time.Second:  {"007"},
		30 * time.Second: {" 30 ", "Sat, 21 Nov 2026 12:00:30 GMT", "Saturday, 21-Nov-26 12:00:30 GMT", "Sat Nov 21 12:00:30 2026"},
		15 * time.Minute: {"900", "901", "4294967296", "99999999999999999999999999", "Sat, 21 Nov 2026 13:00:00 GMT",
			"Fri, 31 Dec 9999 23:59:59 GMT"},
	} {
		for _, header := range headers {
			require.Equal(t, want, channel.RetryAfter(header, noon), header)
		}
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
