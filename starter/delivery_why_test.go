package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/explain"
	"herald/internal/list"
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

func TestUnknownDeliveries(t *testing.T) {
	t.Parallel()

	c := withDatabase(t)
	tests := []struct {
		args []string
		want string
		next string
	}{
		{args: []string{"event", "show", "e"}, want: "error: event e: no such event", next: "next: check the id"},
		{args: []string{"delivery", "show", "d"}, want: "error: delivery d: no such delivery",
			next: "next: check the id, or look for it with `starter delivery list"},
		{args: []string{"delivery", "show", "digest-1"}, want: "error: delivery digest-1: no such delivery",
			next: "next: it looks like the id of a digest"},
		{args: []string{"delivery", "why", "d"}, want: "error: delivery d: no such delivery",
			next: "`starter delivery why --event ID --recipient TYPE/ID --channel C`"},
		{args: []string{"delivery", "why", "--event", "e", "--recipient", "doctor/42", "--channel", "SMS"},
			want: "there is no user type DOCTOR; the types are ADMIN, AGENCY_USER, CUSTOMER, GUEST, RESTAURANT_USER",
			next: "next: name one of these types, or add yours to the table user_type"},
		{args: []string{"delivery", "list", "--recipient", "COSTUMER/42"}, want: "there is no user type COSTUMER",
			next: "add yours to the table user_type"},
		{args: []string{"delivery", "why", "--event", "e", "--recipient", "CUSTOMER/42", "--channel", "SMS"},
			want: "error: event e: no such event", next: "next: check the id"},
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
		{name: "the last, without Temporal", row: open, last: true, state: inState(explain.Unreachable),
			want: "not ended: under way, or the worker crashed"},
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
		"no column": {"user_type, user_id, name, email, phone, slack_webhook_url, locale, active", "timezone", "add the column to it"},
		"no boolean": {"user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, coalesce(email, name) AS active",
			"SQLSTATE 22P02", "cast the column there"},
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
		       ('evt-1', 'ORDER_PAID', 'CUSTOMER', '42', 'SMS', 'evt-1-customer42-SMS', 'secret words', 'secret words', 'FAILED',
		           'twilio refused: 400 21211', NULL)`)

	out := c.must(t, "why", "--recipient", "customer/42")
	require.Regexp(t,
		`(?s)evt-2 .*PUSH .*USER_DISABLED.*evt-2 .*EMAIL .*QUIET_HOURS.*evt-1 .*SMS .*SELECTED .*FAILED .*twilio refused: 400 21211.*evt-1 .*EMAIL .*SELECTED .*SENT .*sent at `,
		out)
	require.NotContains(t, out, "secret words")
	type decisions struct{ Decisions []list.RecipientDecision }
	require.Len(t, read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--since", "24h").Decisions, 2)
	mails := read[decisions](t, c, "why", "--recipient", "CUSTOMER/42", "--channel", "email").Decisions
	require.Len(t, mails, 2)
	require.NotEmpty(t, mails[0].Reason)
	require.Equal(t, "evt-1-customer42-EMAIL", mails[1].DeliveryID)
	require.Contains(t, c.must(t, "why", "--recipient", "CUSTOMER/44"), "nothing was decided about them")
	require.Equal(t, calledWrong, c.run(t, "why").code)
	require.Contains(t, c.run(t, "why", "--recipient", "PATIENT/1").err, "PATIENT")
}
