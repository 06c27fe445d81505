package main

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

// explainedEvents adds an event in each state to the rows of withDelivery.
const explainedEvents = `
	INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, created_at, error_message, cancels, expires_at, collapse_key)
	VALUES ('pending', 'BOOKED', 'RESTAURANT', '5', '{}', 'PENDING', NULL, '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('failed', 'BOOKED', 'RESTAURANT', '5', '{}', 'FAILED', NULL, '2026-11-21 08:00Z', 'claimed 10 times without a start', NULL, NULL, NULL),
	       ('unrouted', 'OTHER', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('nobody', 'BOOKED', 'RESTAURANT', '6', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('problem', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('incomplete', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('rejected', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('asks', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('unplanned', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('ended', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, '2040-01-01 08:00Z', 'table-4'),
	       ('withdrawn', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL),
	       ('withdraws', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, 'withdrawn', NULL, NULL),
	       ('mistyped', 'BOOKED', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, 'nothing', NULL, NULL),
	       ('late', 'LATE', 'RESTAURANT', '5', '{}', 'PROCESSED', '2026-11-21 08:01Z', '2026-11-21 08:00Z', NULL, NULL, NULL, NULL);
	INSERT INTO processed_event (event_id, status, outcome, problem, updated_at)
	VALUES ('unrouted', 'SUCCESS', 'NO_ROUTING', 'no rows', '2026-11-21 08:02Z'), ('nobody', 'SUCCESS', 'NO_RECIPIENTS', 'nobody', '2026-11-21 08:02Z'),
	       ('problem', 'SUCCESS', 'PROBLEM', 'a rule names nobody', '2026-11-21 08:02Z'), ('incomplete', 'SUCCESS', 'INCOMPLETE', NULL, '2026-11-21 08:02Z'),
	       ('rejected', 'SUCCESS', 'REJECTED', NULL, '2026-11-21 08:02Z'), ('asks', 'PROCESSING', NULL, NULL, '2026-11-21 08:02Z'),
	       ('unplanned', 'FAILED', 'FAILED', 'too many', '2026-11-21 08:02Z'), ('ended', 'SUCCESS', NULL, NULL, '2026-11-21 08:02Z'),
	       ('withdrawn', 'FAILED', 'CANCELLED', NULL, '2026-11-21 08:02Z'), ('withdraws', 'SUCCESS', NULL, NULL, '2026-11-21 08:02Z');
	UPDATE processed_event SET updated_at = '2026-11-21 08:02Z';
	INSERT INTO event_approval (event_id, asked_at, answer, answered_by, reason, answered_at)
	VALUES ('asks', '2026-11-21 08:02Z', NULL, NULL, NULL, NULL), ('rejected', '2026-11-21 08:02Z', 'REJECTED', 'ada', 'not today', '2026-11-21 08:03Z');
	UPDATE event_outbox SET published_at = '2026-11-21 08:01Z' WHERE event_id = 'evt-1'`

// explainedDeliveries adds a delivery in each state.
const explainedDeliveries = `
	INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, digest_window, delay, send_at_path, send_before, quiet_hours_action, priority, on_escalation_only, expires_after)
	VALUES ('LATE', 'EMAIL', false, 'DELAYED', DEFAULT, '1 hour', NULL, DEFAULT, 'DEFER', 'HIGH', false, NULL),
	       ('LATE', 'SMS', true, 'DELAYED', DEFAULT, DEFAULT, 'start', '1 day', 'IGNORE', NULL, true, '2 days'),
	       ('LATE', 'PUSH', false, 'AGGREGATE', '2 hours', DEFAULT, NULL, DEFAULT, 'DROP', NULL, false, NULL);
	UPDATE event_type_channel_routing SET roles = '{CHEF,MANAGER}' WHERE event_type = 'LATE' AND channel_type = 'EMAIL';
	INSERT INTO notification_template (event_type, title, body) VALUES ('LATE', 'Late', 'Hello {{.recipient.user_id}}');
	INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES ('BOOKED', 'EMAIL', 'SMS', '5 minutes', 'READ');
	INSERT INTO recipient (user_type, user_id, email, phone, timezone) SELECT 'RESTAURANT_USER', id, 'a' || id || '@example.com', '+12025550110', 'Europe/Rome'
	FROM unnest('{sent,arrived,bounced,cancelled,optedout,left,expired,replaced,sentreplaced,erased,notext,waits,late,item,started,due,withdrawn}'::text[]) AS id;
	INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' FROM recipient WHERE user_id NOT IN ('10', '42', 'left');
	INSERT INTO erased_recipient (user_type, user_id, erased_at) VALUES ('RESTAURANT_USER', 'erased', '2026-11-21 09:00Z');
	INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
	SELECT 'ended', user_type, user_id, '2026-11-21 08:00Z', '{"EMAIL":"SELECTED","SMS":"NO_ADDRESS"}' FROM recipient WHERE user_id NOT IN ('10', '42', 'withdrawn');
	INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels, throttled_by)
	VALUES ('ended', 'CUSTOMER', '42', '2026-11-21 08:00Z', '{"EMAIL":"THROTTLED","SMS":"SELECTED"}', '{"EMAIL": "evt-0-customer42-EMAIL"}');
	INSERT INTO notification (event_id, event_type, user_type, user_id, entity_type, entity_id, channel, delivery_id, title, body, status, last_error, created_at, sent_at, delivered_at)
	SELECT CASE user_id WHEN 'withdrawn' THEN user_id ELSE 'ended' END, 'BOOKED', user_type, user_id, 'RESTAURANT', '5', 'EMAIL', user_id, 'Table for 4', 'hello Giulia',
	       CASE WHEN user_id IN ('sent', 'sentreplaced') THEN 'SENT' WHEN user_id = 'arrived' THEN 'DELIVERED' WHEN user_id IN ('bounced', 'notext') THEN 'FAILED'
	            WHEN user_id IN ('waits', 'late', 'item', 'started', 'due') THEN 'PENDING' ELSE 'CANCELLED' END,
	       CASE user_id WHEN 'bounced' THEN '550 no such mailbox' WHEN 'notext' THEN 'no template' WHEN 'cancelled' THEN 'cancelled by ada' WHEN 'optedout' THEN 'USER_DISABLED'
	            WHEN 'left' THEN 'no longer a recipient' WHEN 'expired' THEN 'EXPIRED' WHEN 'replaced' THEN 'replaced by event evt-9' WHEN 'withdrawn' THEN 'cancelled by event withdraws' END,
	       '2026-11-21 08:00Z', CASE WHEN user_id IN ('sent', 'sentreplaced', 'arrived', 'bounced') THEN timestamptz '2026-11-21 08:01Z' END,
	       CASE user_id WHEN 'arrived' THEN timestamptz '2026-11-21 08:02Z' END
	FROM   recipient WHERE user_id NOT IN ('10', '42');
	UPDATE notification SET receipt_failed = true, provider = 'sendgrid', provider_message_id = 'm-1' WHERE delivery_id = 'bounced';
	UPDATE notification SET title = NULL, body = NULL WHERE delivery_id = 'notext';
	UPDATE notification SET read_at = '2026-11-21 08:03Z', escalates = true WHERE delivery_id = 'arrived';
	UPDATE notification SET replaced_by = 'evt-9' WHERE delivery_id IN ('replaced', 'sentreplaced');
	UPDATE notification SET send_after = '2040-01-01 08:00Z' WHERE delivery_id IN ('waits', 'late', 'evt-1-staff10-SMS');
	UPDATE notification SET strategy = 'DELAYED', priority = 'HIGH', expires_at = '2040-01-02 08:00Z', escalates = true WHERE delivery_id = 'late';
	UPDATE notification SET strategy = 'AGGREGATE', digest_id = 'digest-1', send_after = '2040-01-01 08:00Z' WHERE delivery_id = 'item';
	UPDATE notification SET attempt_owner = 'o', attempt_until = '2040-01-01 08:00Z', attempt_began = '2026-11-21 08:05Z', attempt_count = 1 WHERE delivery_id = 'started';
	UPDATE notification SET escalated_from = 'evt-1-staff10-EMAIL' WHERE delivery_id = 'evt-1-staff10-SMS';
	UPDATE notification SET escalates = true WHERE delivery_id = 'evt-1-staff10-EMAIL';
	INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, received_at, status, outcome, detail)
	VALUES ('sendgrid', 'r-1', 'bounced', 'm-1', '2026-11-21 08:02Z', '2026-11-21 08:02:01Z', 'bounce', 'FAILED', '550 no such mailbox'),
	       ('sendgrid', 'r-2', 'sent', 'm-2', '2026-11-21 08:02Z', '2026-11-21 08:02:01Z', 'deferred', NULL, NULL);
	INSERT INTO operator_action (at, actor, command, target, detail) VALUES ('2026-11-21 08:04Z', 'ada', 'delivery cancel', 'cancelled', 'a mistake')`

// volatile matches the parts of the output that differ between two runs. Times of the rows have the day
// 2026-11-21, or the year 2040.
var volatile = regexp.MustCompile(`it is \d\d:\d\d|quiet until \d\d:\d\d|(?:202[7-9]|203\d|2026-1[02]|2026-0\d|2026-11-[013]\d|2026-11-2[02-9])-?[\d-]*[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// The whole output about an event, a delivery or a decision in each state stays as it is, as text
// and as JSON.
func TestExplained(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	c.exec(t, explainedEvents)
	c.exec(t, explainedDeliveries)
	commands := map[string][]string{
		"why": {"why --recipient RESTAURANT_USER/10", "why --recipient CUSTOMER/42 -o json", "why --recipient RESTAURANT_USER/late", "why --recipient RESTAURANT_USER/sent"},
		"event_simulate": {
			"event simulate --event nobody", "event simulate --event unrouted", "event simulate --event late --at 2026-11-21T08:00:00Z --recipient RESTAURANT_USER/10",
			"event simulate --event ended --at 2026-11-21T08:00:00Z --recipient RESTAURANT_USER/10 --recipient CUSTOMER/42 --recipient CUSTOMER/43",
			"event simulate --event ended --at 2026-11-21T08:00:00Z --recipient RESTAURANT_USER/10 --recipient CUSTOMER/42 --recipient CUSTOMER/43 -o json",
		},
		"template_preview": {
			"template preview --event late --recipient RESTAURANT_USER/10 --channel EMAIL", "template preview --event late --recipient RESTAURANT_USER/10 --channel PUSH -o json",
			"template preview --event late --recipient RESTAURANT_USER/10 --channel SLACK", "template preview --event ended --recipient RESTAURANT_USER/10 --channel SMS",
		},
		"event_show":    {"event show ended -o json", "event show asks -o json", "event show failed -o json"},
		"delivery_show": {"delivery show bounced -o json", "delivery show late -o json"},
		"delivery_why":  {"delivery why bounced -o json", "delivery why late -o json", "delivery why --event late --recipient RESTAURANT_USER/10 --channel SMS -o json"},
	}
	for _, of := range []string{
		"evt-1 --recipient RESTAURANT_USER/10 --channel PUSH", "evt-1 --recipient RESTAURANT_USER/10 --channel SLACK", "evt-1 --recipient CUSTOMER/42 --channel SMS",
		"evt-1 --recipient CUSTOMER/43 --channel SMS", "ended --recipient CUSTOMER/42 --channel EMAIL", "ended --recipient CUSTOMER/42 --channel SMS",
		"late --recipient RESTAURANT_USER/10 --channel EMAIL", "late --recipient RESTAURANT_USER/10 --channel SMS", "late --recipient RESTAURANT_USER/10 --channel PUSH",
	} {
		commands["delivery_why"] = append(commands["delivery_why"], "delivery why --event "+of)
	}
	for _, id := range []string{"pending", "failed", "unrouted", "nobody", "problem", "incomplete", "rejected", "asks", "unplanned", "ended", "withdrawn", "withdraws", "mistyped", "evt-1"} {
		commands["event_show"] = append(commands["event_show"], "event show "+id)
		commands["delivery_why"] = append(commands["delivery_why"], "delivery why --event "+id+" --recipient RESTAURANT_USER/10 --channel EMAIL")
	}
	for _, id := range []string{
		"evt-1-staff10-SMS", "sent", "arrived", "bounced", "cancelled", "optedout", "left", "expired", "replaced", "sentreplaced", "erased", "notext",
		"waits", "late", "item", "started", "due", "withdrawn",
	} {
		commands["delivery_show"] = append(commands["delivery_show"], "delivery show "+id)
		commands["delivery_why"] = append(commands["delivery_why"], "delivery why "+id)
	}
	for name, lines := range commands {
		printed := make([]string, len(lines))
		var group errgroup.Group
		group.SetLimit(8)
		for i, line := range lines {
			group.Go(func() error {
				got := c.run(t, strings.Fields(line)...)
				printed[i] = "$ starter " + line + "\n" + got.out + got.err
				return nil
			})
		}
		require.NoError(t, group.Wait())
		roomtest.Golden(t, name, volatile.ReplaceAllString(strings.Join(printed, "\n"), "<now>"))
	}
}

// The output about a running workflow stays as it is, as text and as JSON.
func TestPrintWorkflows(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	later, took := at.Add(time.Hour), 0.21
	running := func(details string, workers int, pending ...explain.PendingActivity) explain.Sending {
		return explain.Sending{
			WorkflowView: explain.WorkflowView{Status: explain.Running, RunID: "run-1", StartedAt: &at, HeraldOutcome: "SENT"},
			TaskQueue:    "herald-sms", Workers: workers, Details: details, Pending: pending, MaxAttempts: 3, WaitsUntil: &later,
		}
	}
	send := explain.PendingActivity{Activity: "Send", State: "SCHEDULED", Attempt: 2, NextAttempt: &later, LastFailure: "twilio is busy: 429", FailureType: "Busy"}
	digest, batch := running("3 of at most 100 joined", 1), running("sending a batch", 0, explain.PendingActivity{Activity: "SendBatch", State: explain.Started, Attempt: 1})
	inDigest, inBatch := running("waiting for its digest", 1), explain.Sending{WorkflowView: explain.WorkflowView{Status: explain.Unknown, Note: "a batch sends it"}, BatchID: "batch-1", Batch: &batch}
	inDigest.DigestID, inDigest.Digest = "digest-1", &digest
	detail := report.DeliveryDetail{
		DeliveryRow: report.DeliveryRow{DeliveryID: "d", EventID: "e", EventType: "T", UserType: "CUSTOMER", UserID: "7", Channel: "SMS", Status: "PENDING", Strategy: "DELAYED", Priority: "HIGH", CreatedAt: at, SendAfter: &later},
		HasText:     true,
		Log:         []report.AttemptRow{{Attempt: 1, StartedAt: at, EndedAt: &later, Outcome: "BUSY", ProviderStatus: 429, Detail: "twilio is busy: 429", TookSeconds: &took}, {Attempt: 2, StartedAt: later}},
	}
	var out bytes.Buffer
	note := func(name string, value any, write func(io.Writer)) {
		encoded := must(json.MarshalIndent(value, "", "  "))(t)
		out.WriteString("== " + name + "\n" + table(t, write) + string(encoded) + "\n\n")
	}
	for _, tt := range []struct {
		name  string
		state explain.Sending
	}{
		{"in back-off", running("", 1, send)}, {"no worker", running("", 0)}, {"in a digest", inDigest}, {"in a batch", inBatch},
		{"failed", explain.Sending{WorkflowView: explain.WorkflowView{Status: "FAILED", Failure: "twilio refused: 400"}}},
	} {
		view := explain.DeliveryView{DeliveryDetail: detail, Workflow: tt.state, Ahead: "; then quiet hours", Escalation: &explain.Escalation{Escalation: report.Escalation{From: "d-EMAIL"}}}
		note(tt.name, view, func(w io.Writer) { printDelivery(w, view) })
		why := explain.Why{EventID: "e", EventType: "T", Channel: "SMS", Decision: "SELECTED", DecidedAt: &at, Meaning: "chosen", Delivery: &detail, Workflow: &tt.state, Next: "it is sent"}
		note("why: "+tt.name, why.Workflow, func(w io.Writer) { printWhy(w, why) })
	}
	event := explain.EventView{
		EventDetail: report.EventDetail{EventID: "e", Deliveries: report.DeliveryTotals{ByStatus: map[notification.Status]int{notification.Failed: 1}, ReadBy: 2}},
		Workflow:    explain.WorkflowView{Status: explain.Running, RunID: "run-1", Problem: "a rule names nobody", Outcome: "PROBLEM"},
		Pending:     []explain.PendingActivity{send}, Next: "planning failed once",
		Batches: []explain.BatchView{{WorkflowID: "batch-1", Pending: []explain.PendingActivity{send}, Progress: explain.BatchProgress{Sent: 210, Failed: 2, Later: 1, Resting: "until 08:00: busy"}}},
	}
	note("event", event, func(w io.Writer) { printEvent(w, event) })
	roomtest.Golden(t, "workflows", out.String())
}
