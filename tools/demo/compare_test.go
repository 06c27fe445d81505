package demo

import (
	"cmp"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
	"herald/tools/example"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func expecting(t *testing.T, outcome, recipients string) example.ExpectedEvent {
	t.Helper()
	event := example.ExpectedEvent{Name: "e", Expect: example.Expectation{Outcome: outcome}}
	require.NoError(t, json.Unmarshal([]byte(recipients), &event.Expect.Recipients))
	return event
}

// told returns the detail of an event with one customer and the channel EMAIL.
func told(decision notification.Decision, delivery *report.RecipientDelivery) report.EventDetail {
	r := report.RecipientDetail{
		UserType: notification.Customer, UserID: "42",
		Decisions:  map[notification.Channel]notification.Decision{notification.Email: decision},
		Deliveries: map[notification.Channel]report.RecipientDelivery{},
	}
	if delivery != nil {
		delivery.DeliveryID = "evt-1-customer42-EMAIL"
		r.Deliveries[notification.Email] = *delivery
	}
	return report.EventDetail{EventID: "evt-1", Recipients: []report.RecipientDetail{r}}
}

func status(status notification.Status, lastError string, sendAfter time.Duration) *report.RecipientDelivery {
	d := &report.RecipientDelivery{Status: status, LastError: lastError}
	if sendAfter != 0 {
		at := now.Add(sendAfter)
		d.SendAfter = &at
	}
	return d
}

// together puts a delivery into a digest.
func together(d *report.RecipientDelivery) *report.RecipientDelivery {
	d.DigestID = "digest-1"
	return d
}

func TestDeviations(t *testing.T) {
	t.Parallel()

	sent, failed, pending := notification.Sent, notification.Failed, notification.Pending
	tests := []struct {
		name           string
		outcome, ended string // the expected and the actual outcome; empty: COMPLETED
		expected       string
		decided        notification.Decision     // empty: SELECTED
		delivery       *report.RecipientDelivery // nil: none
		receipts       bool                      // the sandbox sends receipts
		deviations     []string                  // part of each line
	}{
		{name: "sent", expected: "SENT", delivery: status(sent, "", 0)},
		{name: "DELIVERED counts as SENT", expected: "SENT", delivery: status(notification.Delivered, "", 0)},
		{name: "arrived", expected: "SENT", receipts: true, delivery: status(notification.Delivered, "", 0)},
		{name: "not arrived", expected: "SENT", receipts: true, delivery: status(sent, "", 0),
			deviations: []string{"expected DELIVERED, is SENT"}},
		{name: "arrived in a digest", expected: "SENT in digest", receipts: true, delivery: together(status(notification.Delivered, "", 0))},
		{name: "arrived alone", expected: "SENT in digest", receipts: true, delivery: status(notification.Delivered, "", 0),
			deviations: []string{"expected DELIVERED in digest, is DELIVERED"}},
		{name: "bounced", expected: "FAILED bounced", receipts: true, delivery: status(failed, "bounced: no such mailbox", 0)},
		{name: "another outcome", expected: "SENT", delivery: status(sent, "", 0), ended: "FAILED",
			deviations: []string{"expected outcome COMPLETED, it is FAILED"}},
		{name: "sent in a digest", expected: "SENT in digest", delivery: together(status(sent, "", 0))},
		{name: "sent alone", expected: "SENT in digest", delivery: status(sent, "", 0), deviations: []string{"expected SENT in digest, is SENT"}},
		{name: "in a digest instead of alone", expected: "SENT", delivery: together(status(sent, "", 0)),
			deviations: []string{"expected SENT, is SENT in digest"}},
		{name: "failed in a digest", expected: "SENT in digest", delivery: together(status(failed, "timeout", 0)),
			deviations: []string{"is FAILED (timeout)"}},
		{name: "failed instead", expected: "SENT", delivery: status(failed, "sendgrid refused: 400", 0),
			deviations: []string{"is FAILED (sendgrid refused: 400)"}},
		{name: "no delivery", expected: "SENT", deviations: []string{"expected SENT, is missing"}},
		{name: "sent instead", expected: "FAILED", delivery: status(sent, "", 0), deviations: []string{"expected FAILED, is SENT"}},
		{name: "the expected failure", expected: "FAILED refused: 400", delivery: status(failed, "sendgrid refused: 400", 0)},
		{name: "another failure", expected: "FAILED refused: 400", delivery: status(failed, "timeout", 0),
			deviations: []string{"expected FAILED refused: 400, is FAILED (timeout)"}},
		{name: "the expected decision", expected: "QUIET_HOURS", decided: notification.DecisionQuietHours},
		{name: "another decision", expected: "QUIET_HOURS", decided: notification.DecisionUserDisabled,
			deviations: []string{"expected QUIET_HOURS, was decided USER_DISABLED"}},
		{name: "an unexpected delivery", expected: "QUIET_HOURS", decided: notification.DecisionQuietHours, delivery: status(sent, "", 0),
			deviations: []string{"expected QUIET_HOURS, is SENT"}},
		{name: "waits", outcome: example.Running, ended: example.Running, expected: "PENDING", delivery: status(pending, "", time.Hour)},
		{name: "waits although it is due", outcome: example.Running, ended: example.Running, expected: "PENDING",
			delivery: status(pending, "", 0), deviations: []string{"expected PENDING, is PENDING"}},
		{name: "sent after its wait", outcome: example.Running, expected: "PENDING", delivery: status(sent, "", -time.Second)},
		{
			name: "sent before it was due", outcome: example.Running, expected: "PENDING", delivery: status(sent, "", time.Hour),
			deviations: []string{"expected PENDING, is SENT", "expected outcome RUNNING, it is COMPLETED"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			event := expecting(t, cmp.Or(tt.outcome, example.Completed), `{"CUSTOMER/42":{"EMAIL":"`+tt.expected+`"}}`)
			seen := Observation{
				Detail: told(cmp.Or(tt.decided, notification.DecisionSelected), tt.delivery), Outcome: cmp.Or(tt.ended, example.Completed),
				Receipts: tt.receipts,
			}
			requireTold(t, tt.deviations, Deviations(event, seen, now))
		})
	}
}

// requireTold checks that there is one line for each fact, in the same order.
func requireTold(t *testing.T, facts, lines []string) {
	t.Helper()
	require.Len(t, lines, len(facts), "%v", lines)
	for i, fact := range facts {
		require.Contains(t, lines[i], fact)
	}
}

func TestDeviationsOfUnexpectedRecipients(t *testing.T) {
	t.Parallel()

	seen := Observation{Detail: told(notification.DecisionSelected, status(notification.Sent, "", 0)), Outcome: example.Completed}
	requireTold(t, []string{"CUSTOMER/42 was told, but should not be"}, Deviations(expecting(t, example.Completed, `{}`), seen, now))
	requireTold(t, []string{"EMAIL: expected nothing, was decided SELECTED"},
		Deviations(expecting(t, example.Completed, `{"CUSTOMER/42":{}}`), seen, now))
	requireTold(t, []string{"CUSTOMER/42 was not told", "expected outcome COMPLETED, it is unknown"},
		Deviations(expecting(t, example.Completed, `{"CUSTOMER/42":{"EMAIL":"SENT"}}`), Observation{}, now))
}

func TestSettled(t *testing.T) {
	t.Parallel()

	waiting := told(notification.DecisionSelected, status(notification.Pending, "", time.Hour))
	soon := told(notification.DecisionSelected, status(notification.Pending, "", time.Second))
	atOnce := told(notification.DecisionSelected, status(notification.Pending, "", 0))
	tests := []struct {
		name      string
		outcome   string // expected
		detail    report.EventDetail
		processed notification.ProcessedStatus
		want      bool
	}{
		{name: "not started", outcome: example.Completed},
		{name: "under way", outcome: example.Completed, processed: notification.Processing},
		{name: "ended", outcome: example.Completed, processed: notification.ProcessedSuccess, want: true},
		{name: "failed", outcome: example.Completed, processed: notification.ProcessedFailed, want: true},
		{name: "not planned yet", outcome: example.Running, processed: notification.Processing},
		{name: "waits for a long time, as expected", outcome: example.Running, detail: waiting, processed: notification.Processing, want: true},
		{name: "waits unexpectedly", outcome: example.Completed, detail: waiting, processed: notification.Processing},
		{name: "due soon", outcome: example.Running, detail: soon, processed: notification.Processing},
		{name: "not sent yet", outcome: example.Running, detail: atOnce, processed: notification.Processing},
	}
	for _, tt := range tests {
		if tt.processed != "" {
			tt.detail.Processed = &report.ProcessedRow{Status: tt.processed}
		}
		event := expecting(t, tt.outcome, `{"CUSTOMER/42":{"EMAIL":"PENDING"}}`)
		require.Equal(t, tt.want, isSettled(event, tt.detail, now.Add(time.Minute)), tt.name)
	}
}

// With receipts, an event is not settled before its receipts arrive.
func TestAnswered(t *testing.T) {
	t.Parallel()

	for want, is := range map[bool]notification.Status{true: notification.Delivered, false: notification.Sent} {
		detail := told(notification.DecisionSelected, status(is, "", 0))
		require.Equal(t, want, (&Demo{Receipts: true}).answered(detail))
		require.True(t, (&Demo{}).answered(detail))
	}
	slack := told(notification.DecisionSelected, nil)
	slack.Recipients[0].Deliveries[notification.Slack] = report.RecipientDelivery{Status: notification.Sent}
	require.True(t, (&Demo{Receipts: true}).answered(slack), "Slack sends no receipts")
}
