package e2e_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	// oneForm is what times look like that starter prints: a moment in UTC; the clock of a
	// zone, and quiet hours by it; in JSON, RFC 3339; what somebody passed as --at, or is
	// told to write; and a producer's id that holds a time.
	oneForm = regexp.MustCompile(`\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}Z\b` +
		`|\b(\d{4}-\d\d-\d\d \d\d:\d\d|` + clockForm + `(-` + clockForm + `)?) (UTC|[A-Z][A-Za-z]+(/[A-Z][A-Za-z_]+)+)\b` +
		`|"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"` +
		`|(--at|such as) \S+` +
		`|\w-\d{4}-\d\d-\d\dT\d\d:\d\d\b`)
	// anyTime is whatever a reader may take for a time.
	anyTime = regexp.MustCompile(`\S*(?:\b\d{4}-\d\d-\d\d|(?:\b|T)\d\d?:\d\d(?:\D|$)|\b\d\d?/\d\d?/\d\d|\b\d\d? (?:` + months + `)\b|\b(?:` + months + `) \d)\S*`)
	// notOurs are commands that print other people's times: help has those that flags take,
	// and messages have those of payloads.
	notOurs = regexp.MustCompile(`--help\b|^(starter )?template preview\b`)
)

const (
	clockForm = `\d\d:\d\d(:\d\d(\.\d+)?)?`
	months    = `Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec`
)

// otherTimes returns the times of an output that have another form than the one.
func otherTimes(output string) []string {
	return anyTime.FindAllString(oneForm.ReplaceAllString(output, "(time)"), -1)
}

// checkTimes fails the test if a command printed a time in another form. Every command that a
// test of this package runs is checked; TestOperations runs those of an operator's night.
func checkTimes(t *testing.T, command, output string) {
	t.Helper()
	if !notOurs.MatchString(command) {
		assert.Empty(t, otherTimes(output), "times in another form than the one: $ %s\n%s", command, output)
	}
}

func TestOtherTimes(t *testing.T) {
	t.Parallel()

	for _, allowed := range []string{
		"", "sent  2026-11-22 10:00:05.000Z", "at 2026-11-22 10:00:05.123Z: it was quiet", "until 08:00 Europe/Rome: quiet hours", "23:14 UTC now",
		"2026-11-23 08:00 America/Argentina/Buenos_Aires", "22:00-07:00 Europe/Rome, it is 23:14 Europe/Rome now", "00:00:00.000001-00:00 UTC",
		`"sent_at": "2026-11-22T10:00:05.1234Z"`, "--at 2026-11-22T08:00:00+01:00", "a time such as 2026-11-21T08:00:00Z",
		"127.0.0.1:17000", "took 1m30s", "01a1fdf8-e7a5-7c35-a319-87e145d0aa47", "projects/p/messages/0:1764", "1 of 12/14 3", "demo-RES-REQ-123-2025-01-20T10:30-staff10-EMAIL",
	} {
		require.Empty(t, otherTimes(allowed), allowed)
	}
	for _, other := range []string{
		"2026-11-22 10:00:05Z", "2026-11-22 10:00:05.000", "2026-11-22 10:00:05.123456Z", "2026-11-22T10:00:05Z", "2026-11-22T10:00:05.000Z", "2026-11-22T11:00+01:00",
		"2026-11-22", "10:00:05.123", "it is 03:58 there now", "quiet until 07:00", "22:00-07:00", "22:00-07:00, priority", "10:00Z", "9:30 Europe/Rome", "3:04PM",
		"22 Nov", "Nov 22, 2026", "22/11/2026", "2026-11-22 10:00:05.000Z07:00", "2026-11-22 10:00:05 +0000 UTC", "2026-11-22 08:00 Z", "2026-11-22 10:00:05 UTC",
	} {
		require.NotEmpty(t, otherTimes(other), other)
	}
}
