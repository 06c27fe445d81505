package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// secrets lists texts that no command may print.
var secrets = []string{"giulia@trattoria.example.com", "+12025550110", "Table for 4", "hello Giulia"}

// withDelivery returns a shell whose database has evt-1 for staff 10: an e-mail that failed after
// three attempts, an SMS that waits for an hour, and a push message dropped in quiet hours.
func withDelivery(t *testing.T) shell {
	t.Helper()
	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO recipient (user_type, user_id, name, email, phone, timezone)
		VALUES ('RESTAURANT_USER', '10', 'Giulia', 'giulia@trattoria.example.com', '+12025550110', 'Europe/Rome');
		INSERT INTO recipient (user_type, user_id) VALUES ('CUSTOMER', '42');
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '10', 'CHEF');
		INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('BOOKED', 'EMAIL'), ('BOOKED', 'SMS'), ('BOOKED', 'PUSH');
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		VALUES ('RESTAURANT_USER', '10', 'PUSH', true, '00:00:00.000001', '00:00');
		INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, max_recipients, allowed_roles)
		VALUES ('RESTAURANT', '5', 'EMAIL', NULL, 1, '{MANAGER}'), ('RESTAURANT', '5', 'EMAIL', 'BOOKED', NULL, NULL);
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at)
		VALUES ('evt-1', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', now(), '2026-11-21 08:00Z');
		INSERT INTO processed_event (event_id, status) VALUES ('evt-1', 'PROCESSING');
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		VALUES ('evt-1', 'RESTAURANT_USER', '10', '2026-11-21 08:00Z', '{"EMAIL":"SELECTED","SMS":"SELECTED","PUSH":"QUIET_HOURS"}');
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status,
		       last_error, attempt_count, created_at)
		VALUES ('evt-1', 'BOOKED', 'RESTAURANT_USER', '10', 'EMAIL', 'evt-1-staff10-EMAIL', 'Table for 4', 'hello Giulia',
		       'giulia@trattoria.example.com',
		        'FAILED', 'sendgrid refused: 400', 3, '2026-11-21 08:00Z'),
		       ('evt-1', 'BOOKED', 'RESTAURANT_USER', '10', 'SMS', 'evt-1-staff10-SMS', 'Table for 4', 'hello Giulia', '+12025550110', 'PENDING',
		           NULL, 0, '2026-11-21 08:00Z');
		UPDATE event_outbox SET correlation_id = 'order-7';
		UPDATE notification SET correlation_id = 'order-7', entity_type = 'RESTAURANT', entity_id = '5' WHERE channel = 'EMAIL';
		UPDATE notification SET send_after = now() + interval '1 hour' WHERE channel = 'SMS';
		INSERT INTO delivery_attempt (delivery_id, attempt, started_at, ended_at, outcome, provider_status, detail, took)
		VALUES ('evt-1-staff10-EMAIL', 1, '2026-11-21 08:00:01Z', '2026-11-21 08:00:01.25Z', 'BUSY', 503, 'sendgrid is busy: 503', '210 ms'),
		       ('evt-1-staff10-EMAIL', 2, '2026-11-21 08:00:31Z', NULL, NULL, NULL, NULL, NULL),
		       ('evt-1-staff10-EMAIL', 3, '2026-11-21 08:01:31Z', '2026-11-21 08:01:32Z', 'REFUSED', 400, 'sendgrid refused: 400', '40 ms');
		INSERT INTO delivery_retry (delivery_id, run_id, retried_at, again, status_before, error_before)
		VALUES ('evt-1-staff10-EMAIL', 'run-1', '2026-11-21 08:01:30Z', false, 'FAILED', 'sendgrid is busy: 503')`)
	return c
}

// A list without an index for its filters searches 100,000 rows, and names the flag that searches on.
func TestListsSearchInParts(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at)
		SELECT 'evt ' || i, CASE i WHEN 1 THEN 'RARE' ELSE 'T' END, 'ADMIN', '1', '{}', 'PROCESSED', now(),
		       '2026-01-01'::timestamptz + i * interval '1 second'
		FROM   generate_series(1, 100002) i`)
	c.exec(t, `
		INSERT INTO notification (id, event_id, event_type, user_type, user_id, channel, delivery_id, title, body)
		OVERRIDING SYSTEM VALUE
		VALUES (1, 'evt 1', 'RARE', 'ADMIN', '1', 'EMAIL', 'rare', '', ''), (100002, 'evt 2', 'T', 'ADMIN', '1', 'EMAIL', 'usual', '', '')`)
	c.exec(t,
		"INSERT INTO operator_action (id, actor, command, target) OVERRIDING SYSTEM VALUE VALUES (1, 'rare', 'retry', 'evt 1'), (100002, "+
			"'usual', 'retry', 'evt 1')")
	for _, tt := range []struct{ list, none, after, want string }{
		{list: "event list --type RARE", none: "no events", after: "'evt 3'", want: "evt 1 "},
		{list: "event list --type RARE --source herald", none: "no events", after: "'evt 3'", want: "evt 1 "},
		{list: "delivery list --event-type RARE", none: "no deliveries", after: "3", want: "rare "},
		{list: "audit --actor rare", none: "nothing was changed", after: "3", want: " rare "},
	} {
		args := strings.Fields(tt.list)
		require.Equal(t, tt.none+"\n… searched only 100,000 rows: to search the next ones, add --after "+tt.after+"\n", c.must(t, args...))
		after := strings.Trim(tt.after, "'")
		require.Equal(t, after, read[struct{ Through string }](t, c, args...).Through, tt.list)
		args = append(args, "--after", after)
		require.Contains(t, c.must(t, args...), tt.want)
		require.NotContains(t, c.must(t, args...), "…")
		c.fails(t, calledWrong, "--after none: no page of this list begins there", append(args, "--after", "none")...)
	}
	require.Equal(t, "no events\n", c.must(t, "event", "list", "--type", "RARE", "--since", "2026-01-01T00:00:04Z"),
		"one call searched the whole period")
	require.Equal(t, "no deliveries\n", c.must(t, "delivery", "list", "--status", "sent", "--event", "evt 1"))
	require.Contains(t, c.must(t, "event", "list", "--limit", "1"), "or add --after 'evt 100002'\n")
}

func TestNewTime(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		at   string
		in   time.Duration
		want time.Time // zero: refused
	}{
		{name: "a time in another zone", at: "2026-11-21T09:00:01+01:00", want: now.Add(time.Second)},
		{name: "a duration", in: 36 * time.Hour, want: now.Add(36 * time.Hour)},
		{name: "neither"},
		{name: "both", at: "2026-11-22T08:00:00Z", in: time.Hour},
		{name: "no time", at: "tomorrow"},
	}
	for _, tt := range tests {
		got, err := newTime(tt.at, tt.in, now)
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, tt.want.IsZero(), err != nil, tt.name)
	}
}
