package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/roomtest"
)

// testdata/lists.golden has the output of each list with each of its filters: as a table and as JSON,
// page by page.
//
// To update it: go test ./starter -run TestListsPrint -write-golden
func TestListsPrint(t *testing.T) {
	t.Parallel()

	c := withLists(t)
	var text strings.Builder
	for _, command := range listCommands {
		c.write(t, &text, command)
	}
	roomtest.Golden(t, "lists", text.String())
}

// write runs a command for each of its pages, and writes what it prints. JSON is written in one line.
func (c shell) write(t *testing.T, to *strings.Builder, command string) {
	t.Helper()
	after := ""
	for {
		args := strings.Fields(command)
		if after != "" {
			args = append(args, "--after", after)
		}
		said, asJSON := c.run(t, args...), c.run(t, append(args, "-o", "json")...)
		fmt.Fprintf(to, "$ starter %s\n%s%s", strings.Join(args, " "), said.out, said.err)
		require.Equal(t, said.code, asJSON.code, args)
		requireNothingSecret(t, said.out+asJSON.out)
		if after = ""; said.code != succeeded {
			fmt.Fprintf(to, "exit %d\n\n", said.code)
			return
		}
		var page struct{ Through string }
		require.NoError(t, json.Unmarshal([]byte(asJSON.out), &page), args)
		var line bytes.Buffer
		require.NoError(t, json.Compact(&line, []byte(asJSON.out)))
		fmt.Fprintf(to, "%s\n\n", jsonTime.ReplaceAllStringFunc(line.String(), inUTC))
		if after = page.Through; after == "" {
			return
		}
	}
}

// jsonTime matches a time in JSON, which is in the zone of the machine.
var jsonTime = regexp.MustCompile(`\d{4}-\d\d-\d\dT[^"]+`)

func inUTC(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// listCommands is each list with each of its filters, with several filters, in pages, and from a place
// that does not exist.
var listCommands = []string{
	"event list",
	"event list --limit 2",
	"event list --limit 5",
	"event list --status pending",
	"event list --status processed --limit 2",
	"event list --status failed",
	"event list --type BOOKED",
	"event list --source orders",
	"event list --aggregate RESTAURANT/5",
	"event list --correlation-id order-1 --limit 1",
	"event list --since 2026-11-21T10:00:00Z",
	"event list --type BOOKED --source herald --aggregate RESTAURANT/5 --status processed --since 2026-11-21T08:00:00Z",
	"event list --after none",
	"event list --outcome problem",
	"event list --outcome problem --limit 1",
	"event list --outcome problem --type BOOKED",
	"event list --outcome problem --source orders",
	"event list --outcome problem --status processed --limit 1",
	"event list --outcome problem --aggregate RESTAURANT/5",
	"event list --outcome problem --correlation-id order-1 --limit 1",
	"event list --outcome problem --since 2026-11-21T10:00:00Z",
	"event list --outcome problem --after evt-4",
	"event list --outcome problem --after none",
	"event list --outcome cancelled",
	"delivery list",
	"delivery list --limit 2",
	"delivery list --status failed",
	"delivery list --status failed,pending --limit 1",
	"delivery list --channel email,push",
	"delivery list --event-type BOOKED",
	"delivery list --correlation-id order-1 --limit 1",
	"delivery list --recipient restaurant_user/10",
	"delivery list --recipient NOBODY/10",
	"delivery list --entity RESTAURANT/5",
	"delivery list --since 2026-11-21T10:00:00Z",
	"delivery list --until 2026-11-21T10:00:00Z --limit 1",
	"delivery list --since 2026-11-21T09:00:00Z --until 2026-11-21T12:00:00Z --status pending --channel sms --event-type BOOKED",
	"delivery list --after none",
	"delivery list --after 0",
	"delivery list --event evt-1",
	"delivery list --event evt-1 --limit 1",
	"delivery list --event evt-1 --status pending --limit 1",
	"delivery list --event evt-1 --channel sms",
	"delivery list --event evt-1 --event-type OTHER",
	"delivery list --event evt-1 --recipient RESTAURANT_USER/10 --correlation-id order-1 --entity RESTAURANT/5",
	"delivery list --event evt-1 --since 2026-11-21T09:30:00Z --until 2026-11-21T11:00:00Z",
	"delivery list --event evt-1 --after none",
	"audit",
	"audit --limit 2",
	"audit --target evt-1",
	"audit --target evt-1-staff10-EMAIL",
	"audit --actor ada",
	"audit --command purge",
	"audit --since 2026-11-21T11:00:00Z",
	"audit --actor ada --target evt-1 --since 2026-11-21T11:00:00Z",
	"audit --after none",
	"suppression list",
	"suppression list --limit 2",
	"suppression list --channel email",
	"suppression list --reason opt_out",
	"suppression list --since 2026-11-21T10:00:00Z",
	"suppression list --channel sms --address +41791234567",
	"suppression list --channel sms --reason invalid --since 2026-11-21T12:00:00Z",
	"why --recipient restaurant_user/10",
	"why --recipient RESTAURANT_USER/10 --limit 2",
	"why --recipient RESTAURANT_USER/10 --channel sms",
	"why --recipient RESTAURANT_USER/10 --since 2026-11-21T10:00:00Z",
	"why --recipient CUSTOMER/1",
	"why --recipient NOBODY/1",
}

// withLists returns a shell whose database has some rows of each list. Some rows have the same time.
func withLists(t *testing.T) shell {
	t.Helper()
	c := withSecret(t)
	c.must(t, "suppression", "add", "--channel", "SMS", "--address", "+41791234567", "--reason", "INVALID")
	c.exec(t, `
		UPDATE recipient_suppression SET since = '2026-11-21 10:00Z';
		INSERT INTO recipient_suppression (channel, address_hash, reason, since, detail)
		VALUES ('SMS', sha256('a'), 'OPT_OUT', '2026-11-21 09:00Z', NULL),
		       ('EMAIL', sha256('b'), 'BOUNCE', '2026-11-21 10:00Z', 'moved'),
		       ('EMAIL', sha256('b'), 'COMPLAINT', '2026-11-21 10:00Z', NULL);
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, status, error_message,
		                          source, created_at, published_at)
		VALUES ('evt-1', 'BOOKED', 'RESTAURANT', '5', '{}', 'order-1', 'PROCESSED', NULL, 'herald', '2026-11-21 09:00Z', '2026-11-21 09:00:01Z'),
		       ('evt-2', 'BOOKED', 'RESTAURANT', '6', '{}', 'order-1', 'PROCESSED', NULL, 'herald', '2026-11-21 10:00Z', '2026-11-21 10:00:01Z'),
		       ('evt-3', 'OTHER', NULL, NULL, NULL, NULL, 'PROCESSED', NULL, 'orders', '2026-11-21 10:00Z', '2026-11-21 10:00:01Z'),
		       ('evt-4', 'OTHER', 'CUSTOMER', '42', '{}', NULL, 'FAILED', 'refused', 'herald', '2026-11-21 11:00Z', NULL),
		       ('evt-5', 'OTHER', 'CUSTOMER', '42', '{}', NULL, 'PENDING', NULL, 'herald', '2026-11-21 12:00Z', NULL);
		INSERT INTO processed_event (event_id, status, outcome, problem, created_at, updated_at)
		VALUES ('evt-1', 'SUCCESS', 'PROBLEM', 'no path', '2026-11-21 09:00Z', '2026-11-21 12:00Z'),
		       ('evt-2', 'SUCCESS', 'PROBLEM', 'no path', '2026-11-21 10:00Z', '2026-11-21 11:00Z'),
		       ('evt-3', 'PROCESSING', NULL, NULL, '2026-11-21 10:00Z', '2026-11-21 10:00Z'),
		       ('purged', 'SUCCESS', 'PROBLEM', 'no path', '2026-11-21 10:00Z', '2026-11-21 11:00Z');
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels, throttled_by)
		VALUES ('evt-1', 'RESTAURANT_USER', '10', '2026-11-21 09:00Z', '{"EMAIL": "SELECTED", "SMS": "SELECTED", "PUSH": "QUIET_HOURS"}', NULL),
		       ('evt-1', 'RESTAURANT_USER', '9', '2026-11-21 09:00Z', '{"EMAIL": "SELECTED"}', NULL),
		       ('evt-2', 'RESTAURANT_USER', '10', '2026-11-21 10:00Z', '{"SMS": "THROTTLED"}', '{"SMS": "evt-1-staff10-SMS"}'),
		       ('purged', 'RESTAURANT_USER', '10', '2026-11-21 10:00Z', '{"EMAIL": "USER_DISABLED"}', NULL);
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error, created_at)
		VALUES ('evt-1', 'BOOKED', 'RESTAURANT_USER', '9', 'EMAIL', 'evt-1-staff9-EMAIL', '', '', 'PENDING', NULL, '2026-11-21 09:00Z'),
		       ('evt-1', 'BOOKED', 'RESTAURANT_USER', '10', 'SMS', 'evt-1-staff10-SMS', '', '', 'PENDING', NULL, '2026-11-21 09:00Z'),
		       ('evt-1', 'BOOKED', 'RESTAURANT_USER', '10', 'EMAIL', 'evt-1-staff10-EMAIL', '', '', 'FAILED', 'no: 400', '2026-11-21 10:00Z'),
		       ('evt-3', 'OTHER', 'CUSTOMER', '42', 'PUSH', 'evt-3-customer42-PUSH', '', '', 'PENDING', NULL, '2026-11-21 11:00Z');
		UPDATE notification SET title = 'Table for 4', body = 'hello Giulia', recipient_address = '+12025550110';
		UPDATE notification SET correlation_id = 'order-1' WHERE event_id = 'evt-1';
		UPDATE notification SET entity_type = 'RESTAURANT', entity_id = '5' WHERE user_id = '10';
		UPDATE notification SET send_after = '2026-11-21 13:00Z' WHERE channel = 'SMS';
		UPDATE notification SET status = 'SENT', sent_at = '2026-11-21 11:00:01Z', digest_id = 'digest-1' WHERE channel = 'PUSH';
		INSERT INTO operator_action (actor, command, target, detail, db_user, at)
		VALUES ('ada', 'event retry', 'evt-1', '', NULL, '2026-11-21 10:00Z'),
		       ('ada', 'delivery retry', 'evt-1-staff10-EMAIL', '--again', 'herald', '2026-11-21 11:00Z'),
		       ('eve', 'event cancel', 'evt-1', '', NULL, '2026-11-21 11:00Z'),
		       ('eve', 'purge', 'event_outbox', '', NULL, '2026-11-21 12:00Z')`)
	c.exec(t, "DELETE FROM operator_action WHERE command = 'suppression add'")
	return c
}
