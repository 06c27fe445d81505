package terminal

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// JSON output keeps the value, but has no characters that a terminal obeys.
func TestJSONIsPrintable(t *testing.T) {
	t.Parallel()

	values := map[string]string{"key\u009b": "\u009b31mred\u0085\x7f \u202egpj.exe\u202c \u200f\u061c\u2066x\u2069 \x1b[31m città 東京 👋"}
	var out bytes.Buffer
	require.NoError(t, (&Output{Format: JSON, Out: &out}).Print(values, nil))
	for _, r := range out.String() {
		require.False(t, r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)), "%q", r)
	}
	require.Contains(t, out.String(), "città 東京 👋")
	var read map[string]string
	require.NoError(t, json.Unmarshal(out.Bytes(), &read))
	require.Equal(t, values, read)
}

func TestProgress(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		stop := (&Output{Err: &out}).Progress(func() string { return "half of it" })
		<-time.After(2*progressInterval + 1)
		stop()
		require.Equal(t, "half of it\nhalf of it\n", out.String())
	})
}

const day = 24 * time.Hour

func TestAge(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]time.Duration{
		"90m": 90 * time.Minute, "24h": day, "7d": 7 * day, "1d1h30m": 25*time.Hour + 30*time.Minute, "2w": 14 * day,
	} {
		age, err := parseAge(value)
		require.NoError(t, err, value)
		require.Equal(t, want, age, value)
	}
	for _, value := range []string{"", "0s", "0d", "-1h", "1d-1h", "d", "7", "99999999d", "40000d", "2562047h", "1d2d", "7D", "0.5h"} {
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

func TestList(t *testing.T) {
	t.Parallel()

	long := listed(t, "evt-1-staff10-EMAIL", strings.Repeat("würde ", 50)+"\nzweite Zeile")
	require.Equal(t, lineWidth, utf8.RuneCountInString(long), "a long error is cut where the line ends")
	require.True(t, strings.HasSuffix(long, "…"), long)
	require.Contains(t, listed(t, strings.Repeat("x", 150), "sendgrid gave no clear answer: 503"), "answer: 503",
		"a long id leaves room for the code")
}

// listed returns the line of a delivery in a list.
func listed(t *testing.T, id, lastError string) string {
	t.Helper()
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, columnGap, ' ', 0)
	List(w, []string{"DELIVERY", "LAST ERROR"}, [][]string{{id, lastError}, {"evt-2-staff10-EMAIL", ""}},
		func(cells []string) []string { return cells })
	require.NoError(t, w.Flush())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	require.Len(t, lines, 3)
	return lines[1]
}

func TestPrintable(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]string{
		"plain": "plain", "città 東京 👋": "città 東京 👋",
		"a\nb\tc\rd": "a b c d", "\x1b[31mred": "\ufffd[31mred", "\u009b31m": "\ufffd31m", "bell\a\x7f": "bell\ufffd\ufffd",
		"\u202egpj.exe\u202c": "\ufffdgpj.exe\ufffd", "\u2066x\u2069\u2028\u2029": "\ufffdx\ufffd\ufffd\ufffd", "\x9b": "\ufffd",
		"a\u200fb\u061cc": "a\ufffdb\ufffdc",
	} {
		require.Equal(t, want, Printable(value))
	}
	require.Equal(t, "first\n  next: rm\ufffd", PrintableLines("first\nnext: rm\x00"))
}

func TestGrouped(t *testing.T) {
	t.Parallel()

	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, Grouped(n))
	}
}
