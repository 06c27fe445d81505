package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
)

// requireNothingSecret requires that no address and no text was printed.
func requireNothingSecret(t *testing.T, printed string) {
	t.Helper()
	for _, secret := range secrets {
		require.NotContains(t, printed, secret)
	}
}

func TestShowDelivery(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	out := c.must(t, "delivery", "show", "evt-1-staff10-EMAIL")

	require.Contains(t, out, "status          FAILED")
	require.Contains(t, out, "correlation id  order-7\nrecipient       RESTAURANT_USER/10\ngroup           RESTAURANT/5\n")
	require.Contains(t, out, "workflow  UNREACHABLE")
	require.Contains(t, out, `ATTEMPT  BEGAN                     TOOK   OUTCOME  HTTP  DETAIL
1        2026-11-21 08:00:01.000Z  210ms  BUSY     503   sendgrid is busy: 503
2        2026-11-21 08:00:31.000Z  -      -        -     begun but never ended: the worker crashed, the next attempt may repeat the message
3        2026-11-21 08:01:31.000Z  40ms   REFUSED  400   sendgrid refused: 400

RETRIED                   AGAIN  RUN    WAS     ERROR THEN
2026-11-21 08:01:30.000Z  no     run-1  FAILED  sendgrid is busy: 503
`)
	requireNothingSecret(t, out)

	view := read[explain.DeliveryView](t, c, "delivery", "show", "evt-1-staff10-EMAIL")
	require.Len(t, view.Log, 3)
	require.Len(t, view.Retries, 1)
	require.Equal(t, explain.Unreachable, view.Workflow.Status)
}

// A receipt that a message bounced is shown with its times, and explained. The list of failed
// deliveries has the delivery.
func TestBouncedDelivery(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	c.exec(t, `
		UPDATE notification SET receipt_failed = true, last_error = 'bounced: 550 no such mailbox', provider_message_id = 'm-2', sent_at = now()
		WHERE  delivery_id = 'evt-1-staff10-EMAIL';
		UPDATE delivery_attempt SET outcome = 'SENT', provider_status = 202, detail = NULL WHERE attempt = 3;
		UPDATE delivery_retry SET message_id_before = 'm-1';
		INSERT INTO delivery_receipt (provider, receipt_id, delivery_id, message_id, at, received_at, status, outcome, detail)
		VALUES ('sendgrid', 'r-1', 'evt-1-staff10-EMAIL', 'm-1', '2026-11-21 08:01Z', '2026-11-21 08:01:02Z', 'dropped', 'FAILED', 'Bounced Address'),
		       ('sendgrid', 'r-2', 'evt-1-staff10-EMAIL', 'm-2', '2026-11-21 08:02Z', '2026-11-21 09:00Z', 'processed', NULL, NULL),
		       ('sendgrid', 'r-3', 'evt-1-staff10-EMAIL', 'm-2', '2026-11-21 08:03Z', '2026-11-21 08:03:01Z', 'bounce', 'FAILED', E'550 no such \x1b[31mmailbox')`)
	const receipts = `
RECEIPT AT                RECEIVED                  FROM      SAYS       MEANS                     DETAIL
2026-11-21 08:01:00.000Z  2026-11-21 08:01:02.000Z  sendgrid  dropped    -, of an earlier message  Bounced Address
2026-11-21 08:02:00.000Z  2026-11-21 09:00:00.000Z  sendgrid  processed  -                         -
2026-11-21 08:03:00.000Z  2026-11-21 08:03:01.000Z  sendgrid  bounce     FAILED                    550 no such `

	for _, verb := range []string{"show", "why"} {
		out := c.must(t, "delivery", verb, "evt-1-staff10-EMAIL")
		require.Contains(t, out, receipts, verb)
		require.NotContains(t, out, "\x1b", verb)
		requireNothingSecret(t, out)
	}
	require.Contains(t, c.must(t, "delivery", "why", "evt-1-staff10-EMAIL"),
		"WHAT HAPPENS NEXT\nnothing: its provider accepted it, and said later that it did not arrive. The last error has its reason.")
	require.Contains(t, c.must(t, "delivery", "list", "--status", "failed"), "bounced: 550 no such mailbox")

	view := read[explain.DeliveryView](t, c, "delivery", "show", "evt-1-staff10-EMAIL")
	require.Len(t, view.Receipts, 3)
	require.True(t, view.ReceiptFailed)
	require.True(t, view.Receipts[0].Earlier)
	require.Equal(t, notification.Failed, view.Receipts[2].Outcome)
}

func TestWhyADeliveryFailed(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	out := c.must(t, "delivery", "why", "evt-1-staff10-EMAIL")

	for _, line := range []string{
		"event      evt-1: BOOKED of RESTAURANT/5, written at 2026-11-21 08:00:00.000Z",
		"decision   SELECTED, at 2026-11-21 08:00:00.000Z: the rules chose them for EMAIL",
		"THE RULES AS THEY ARE NOW, which may differ from the rules at that time",
		"routing      BOOKED over EMAIL: optional, IMMEDIATE, in quiet hours DROP, priority the recipient's",
		"channel      EMAIL may serve ADMIN, AGENCY_USER, CUSTOMER, RESTAURANT_USER",
		"recipient    active; named through RESTAURANT/5, as CHEF",
		"entity       RESTAURANT/5 for this event type: on; this replaces its row for every event type (on, only the roles MANAGER, at most 1 recipients)\n",
		"chosen       1 of the event's recipients, over EMAIL\n",
		"address      an e-mail address",
		"2        2026-11-21 08:00:31.000Z  -      -        -     begun but never ended: the worker crashed, the next attempt may repeat the message",
		"WHAT HAPPENS NEXT\nnothing: it failed. Correct what the provider refused: the recipient's address, or the text, then run `starter delivery retry evt-1-staff10-EMAIL`\n",
	} {
		require.Contains(t, out, line)
	}
	requireNothingSecret(t, out)

	view := read[explain.Why](t, c, "delivery", "why", "evt-1-staff10-EMAIL")
	require.Equal(t, notification.DecisionSelected, view.Decision)
	require.Equal(t, notification.DecisionSelected, view.Rules.Decision)
	require.Len(t, view.Rules.Settings, 2)
	require.True(t, view.Rules.Settings[0].Holds && view.Rules.Settings[0].EventSpecific)
	require.Len(t, view.Delivery.Log, 3)
	require.Equal(t, explain.Unreachable, view.Workflow.Status)
}

func TestWhySomebodyGotNothing(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	why := func(recipient, channel string) string {
		return c.must(t, "delivery", "why", "--event", "evt-1", "--recipient", recipient, "--channel", channel)
	}

	quiet := why("restaurant_user/10", "push")
	require.Contains(t, quiet, "decision   QUIET_HOURS, at 2026-11-21 08:00:00.000Z: they or their entity had quiet hours")
	require.Contains(t, quiet, "quiet hours  00:00:00.000001-00:00 Europe/Rome, it is ")
	require.Contains(t, quiet, "quiet until 00:00 Europe/Rome")
	require.Contains(t, quiet, "delivery  none was planned")
	requireNothingSecret(t, quiet)

	require.Contains(t, why("CUSTOMER/42", "SMS"), "decision   nothing was decided about them, since the event does not name them: they are not a member of RESTAURANT/5")
	require.Contains(t, why("CUSTOMER/43", "SMS"), "they are not in the directory")
	slack := why("RESTAURANT_USER/10", "SLACK")
	require.Contains(t, slack, "nothing was decided about SLACK: the event's type was not routed over it")
	require.Contains(t, slack, "routing      BOOKED does not go over SLACK, but over EMAIL, PUSH, SMS")

	planned := why("RESTAURANT_USER/10", "SMS")
	require.Contains(t, planned, "delivery  evt-1-staff10-SMS: PENDING")
	require.Contains(t, planned, "unknown, because Temporal is out of reach. By its row it waits until ")
}

// If the event's row was purged, its values come from the delivery's row, or are called unknown.
func TestWhyOfAPurgedEvent(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	c.exec(t, "DELETE FROM event_outbox")

	out := c.must(t, "delivery", "why", "evt-1-staff10-EMAIL")

	require.Contains(t, out, "event      evt-1: BOOKED; its row in the outbox was purged")
	require.Contains(t, out, "decision   SELECTED")
	require.Contains(t, out, "active; named through RESTAURANT/5, as CHEF")

	c.exec(t, "UPDATE notification SET entity_type = NULL, entity_id = NULL")

	out = c.must(t, "delivery", "why", "evt-1-staff10-EMAIL")
	require.Contains(t, out, "the entity is not known, because the event's row was purged")
	require.Contains(t, out, "entity       the entity is unknown, and so are its settings")
	require.NotContains(t, out, "decided now")
}

func TestUnknownDeliveries(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	tests := []struct {
		args []string
		want string
		next string
	}{
		{args: []string{"event", "show", "e"}, want: "error: event e: no such event", next: "next: check the id"},
		{args: []string{"delivery", "show", "d"}, want: "error: delivery d: no such delivery", next: "next: check the id, or look for it with `starter delivery list"},
		{args: []string{"delivery", "show", "digest-1"}, want: "error: delivery digest-1: no such delivery", next: "next: it looks like the id of a digest"},
		{args: []string{"delivery", "why", "d"}, want: "error: delivery d: no such delivery", next: "`starter delivery why --event ID --recipient TYPE/ID --channel C`"},
		{args: []string{"delivery", "why", "--event", "e", "--recipient", "doctor/42", "--channel", "SMS"}, want: "there is no user type DOCTOR; the types are ADMIN, AGENCY_USER, CUSTOMER, GUEST, RESTAURANT_USER", next: "next: name one of these types, or add yours to the table user_type"},
		{args: []string{"delivery", "list", "--recipient", "COSTUMER/42"}, want: "there is no user type COSTUMER", next: "add yours to the table user_type"},
		{args: []string{"delivery", "why", "--event", "e", "--recipient", "CUSTOMER/42", "--channel", "SMS"}, want: "error: event e: no such event", next: "next: check the id"},
	}
	for _, tt := range tests {
		got := c.fails(t, failed, tt.want, tt.args...)
		require.Empty(t, got.out, tt.args)
		require.Contains(t, got.err, tt.next, tt.args)
	}
}

func TestAttemptText(t *testing.T) {
	t.Parallel()

	const crash = "begun but never ended: the worker crashed, the next attempt may repeat the message"
	now := time.Now()
	open, done := report.AttemptRow{StartedAt: now}, report.AttemptRow{StartedAt: now, EndedAt: &now, Detail: "twilio is busy: 429"}
	lost := report.AttemptRow{StartedAt: now, EndedAt: &now, Outcome: notification.OutcomeLost}
	inState := func(status string) explain.Sending {
		return explain.Sending{WorkflowView: explain.WorkflowView{Status: status}}
	}
	sending := func(activity, state string) explain.Sending {
		return explain.Sending{Pending: []explain.PendingActivity{{Activity: activity, State: state}}}
	}
	under := sending("Send", explain.Started)
	digest := sending("SendDigest", explain.Started)
	inDigest := explain.Sending{Digest: &digest}
	sendingBatch := sending("SendBatch", explain.Started)
	inBatch := explain.Sending{Batch: &sendingBatch}
	tests := []struct {
		name  string
		row   report.AttemptRow
		last  bool
		state explain.Sending
		want  string
	}{
		{name: "ended", row: done, last: true, state: under, want: "twilio is busy: 429"},
		{name: "under way", row: open, last: true, state: under, want: "under way"},
		{name: "under way in a digest", row: open, last: true, state: inDigest, want: "under way"},
		{name: "under way in a batch", row: open, last: true, state: inBatch, want: "under way"},
		{name: "sent alone", row: report.AttemptRow{StartedAt: now, EndedAt: &now}, last: true, want: "-"},
		{name: "lost", row: lost, state: under, want: "a crash ended it: the next attempt may repeat the message"},
		{name: "an earlier attempt", row: open, state: under, want: crash},
		{name: "the last, and another is due", row: open, last: true, state: sending("Send", "SCHEDULED"), want: crash},
		{name: "the last attempt of a failed delivery", row: open, last: true, state: inState("FAILED"), want: crash},
		{name: "the last, without Temporal", row: open, last: true, state: inState(explain.Unreachable), want: "not ended: under way, or the worker crashed"},
		{name: "an earlier attempt, without Temporal", row: open, state: inState(explain.Unreachable), want: crash},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, attemptText(tt.row, tt.last, tt.state), tt.name)
	}
}

// If planning cannot read a view that replaces a table of the directory, the error names the view
// and the correction, and quotes no value.
func TestWhyWithAMistakenView(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct{ columns, problem, next string }{
		"no column":  {"user_type, user_id, name, email, phone, slack_webhook_url, locale, active", "timezone", "add the column to it"},
		"no boolean": {"user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, coalesce(email, name) AS active", "SQLSTATE 22P02", "cast the column there"},
	} {
		c := withDelivery(t)
		c.exec(t, `ALTER TABLE recipient RENAME TO person`)
		c.exec(t, `CREATE VIEW recipient AS SELECT `+tt.columns+` FROM person`)
		got := c.fails(t, failed, "column", "delivery", "why", "--event", "evt-1", "--recipient", "RESTAURANT_USER/10", "--channel", "PUSH")
		require.Contains(t, got.err, tt.problem, name)
		require.NotContains(t, got.err, "preprocessing")
		require.Regexp(t, "next: if the directory is a view, .*"+tt.next, got.err)
		requireNothingSecret(t, got.err)
	}
}

// A recipient's decisions, sent and not sent, are listed with reasons, latest first.
func TestWhyRecipient(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	c.exec(t, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		VALUES ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', '{}'), ('evt-2', 'PROMOTION', 'CUSTOMER', '42', '{}')`)
	c.exec(t, `
		INSERT INTO notification_decision (event_id, user_type, user_id, decided_at, channels)
		VALUES ('evt-1', 'CUSTOMER', '42', now() - interval '2 days', '{"EMAIL": "SELECTED", "SMS": "SELECTED"}'),
		       ('evt-2', 'CUSTOMER', '42', now(), '{"PUSH": "USER_DISABLED", "EMAIL": "QUIET_HOURS"}'),
		       ('evt-2', 'CUSTOMER', '43', now(), '{"PUSH": "SELECTED"}')`)
	c.exec(t, `
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, status, last_error, sent_at)
		VALUES ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', 'EMAIL', 'evt-1-customer42-EMAIL', 'secret words', 'secret words', 'SENT', NULL, now()),
		       ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', 'SMS', 'evt-1-customer42-SMS', 'secret words', 'secret words', 'FAILED', 'twilio refused: 400 21211', NULL)`)

	out := c.must(t, "why", "--recipient", "customer/42")
	require.Regexp(t, `(?s)evt-2 .*PUSH .*USER_DISABLED.*evt-2 .*EMAIL .*QUIET_HOURS.*evt-1 .*SMS .*SELECTED .*FAILED .*twilio refused: 400 21211.*evt-1 .*EMAIL .*SELECTED .*SENT .*sent at `, out)
	require.NotContains(t, out, "secret words")
	type decisions struct{ Decisions []report.RecipientDecision }
	require.Len(t, read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--since", "24h").Decisions, 2)
	mails := read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--channel", "email").Decisions
	require.Len(t, mails, 2)
	require.NotEmpty(t, mails[0].Reason)
	require.Equal(t, "evt-1-customer42-EMAIL", mails[1].DeliveryID)
	require.Contains(t, c.must(t, "why", "--recipient", "CUSTOMER/44"), "nothing was decided about them")
	require.Equal(t, calledWrong, c.run(t, "why").code)
	require.Contains(t, c.run(t, "why", "--recipient", "PATIENT/1").err, "PATIENT")
}
