package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// hostile is what a producer, a provider or a directory may have written.
const hostile = "x\x1b]0;owned\a\nevt-2  FORGED\u009b2J\u202e\u2067"

// Whatever the rows hold, the terminal is obeyed by nobody but us.
func TestHostileValuesAreReplaced(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, `
		ALTER TABLE event_outbox
			DROP CONSTRAINT event_outbox_event_type_printable, DROP CONSTRAINT event_outbox_aggregate_type_printable,
			DROP CONSTRAINT event_outbox_aggregate_id_printable, DROP CONSTRAINT event_outbox_correlation_id_printable`) // as it was before the table refused them
	for _, sql := range []string{
		`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, correlation_id, payload, status, error_message)
		 VALUES ('evt-1', $1, $1, $1, $1, '{}', 'FAILED', $1)`,
		`INSERT INTO notification_decision (event_id, user_type, user_id, channels) VALUES ('evt-1', 'CUSTOMER', $1, '{"EMAIL": "SELECTED"}')`,
		`INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error)
		 VALUES ('evt-1', $1, 'CUSTOMER', $1, 'EMAIL', 'd1', 'title', 'body', 'FAILED', $1)`,
		`INSERT INTO delivery_attempt (delivery_id, attempt, ended_at, outcome, detail) VALUES ('d1', 1, clock_timestamp(), 'REFUSED', $1)`,
	} {
		c.exec(t, sql, hostile)
	}
	for _, args := range [][]string{
		{"event", "list"}, {"event", "show", "evt-1"}, {"delivery", "list"}, {"delivery", "show", "d1"}, {"delivery", "why", "d1"},
		{"event", "show", hostile}, {"delivery", "show", hostile}, {"event", "list", "--status", hostile}, {"migrate", hostile},
	} {
		got := c.run(t, args...)

		require.Contains(t, got.out+got.err, "FORGED", args)
		for line := range strings.Lines(got.out + got.err) {
			require.False(t, strings.HasPrefix(line, "evt-2"), args)
			for _, r := range strings.TrimSuffix(line, "\n") {
				require.False(t, unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r), "%q by %v", line, args)
			}
		}
	}
}
