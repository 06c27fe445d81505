package demo

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/example"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func expecting(t *testing.T, outcome, recipients string) example.Event {
	t.Helper()
	event := example.Event{Name: "e", Expect: example.Expectation{Outcome: outcome}}
	require.NoError(t, json.Unmarshal([]byte(recipients), &event.Expect.Recipients))
	return event
}

// told is one customer over EMAIL.
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

// together is what was sent in a digest.
func together(d *report.RecipientDelivery) *report.RecipientDelivery {
	d.DigestID = "digest-1"
	return d
}

func TestDeviations(t *testing.T) {
	t.Parallel()

	const selected = notification.DecisionSelected
	tests := []struct {
		name    string
		outcome string // expected
		result  string // expected
		detail  report.EventDetail
		ended   string
		want    []string
	}{
		{"sent", example.Completed, "SENT", told(selected, status(notification.Sent, "", 0)), example.Completed, nil},
		{"delivered is as good", example.Completed, "SENT", told(selected, status(notification.Delivered, "", 0)), example.Completed, nil},
		{"another outcome", example.Completed, "SENT", told(selected, status(notification.Sent, "", 0)), "FAILED",
			[]string{"e: expected outcome COMPLETED, it is FAILED"}},
		{"unknown outcome", example.Completed, "SENT", told(selected, status(notification.Sent, "", 0)), "",
			[]string{"e: expected outcome COMPLETED, it is unknown"}},
		{"sent in a digest", example.Completed, "SENT in digest", told(selected, together(status(notification.Sent, "", 0))), example.Completed, nil},
		{"sent alone", example.Completed, "SENT in digest", told(selected, status(notification.Sent, "", 0)), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected SENT in digest, is SENT"}},
		{"sent in a digest, and not alone", example.Completed, "SENT", told(selected, together(status(notification.Sent, "", 0))), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected SENT, is SENT in digest"}},
		{"failed in a digest", example.Completed, "SENT in digest", told(selected, together(status(notification.Failed, "timeout", 0))), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected SENT in digest, is FAILED (timeout)"}},
		{"failed instead", example.Completed, "SENT", told(selected, status(notification.Failed, "sendgrid refused: 400", 0)), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected SENT, is FAILED (sendgrid refused: 400)"}},
		{"no delivery", example.Completed, "SENT", told(selected, nil), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected SENT, is missing"}},
		{"sent instead", example.Completed, "FAILED", told(selected, status(notification.Sent, "", 0)), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected FAILED, is SENT"}},
		{"its failure", example.Completed, "FAILED refused: 400", told(selected, status(notification.Failed, "sendgrid refused: 400", 0)), example.Completed, nil},
		{"another failure", example.Completed, "FAILED refused: 400", told(selected, status(notification.Failed, "timeout", 0)), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected FAILED refused: 400, is FAILED (timeout)"}},
		{"decided so", example.Completed, "QUIET_HOURS", told(notification.DecisionQuietHours, nil), example.Completed, nil},
		{"decided otherwise", example.Completed, "QUIET_HOURS", told(notification.DecisionUserDisabled, nil), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected QUIET_HOURS, was decided USER_DISABLED"}},
		{"a delivery too many", example.Completed, "QUIET_HOURS", told(notification.DecisionQuietHours, status(notification.Sent, "", 0)), example.Completed,
			[]string{"e: CUSTOMER/42 EMAIL: expected QUIET_HOURS, is SENT"}},
		{"waits", example.Running, "PENDING", told(selected, status(notification.Pending, "", time.Hour)), example.Running, nil},
		{"waits for nothing", example.Running, "PENDING", told(selected, status(notification.Pending, "", 0)), example.Running,
			[]string{"e: CUSTOMER/42 EMAIL: expected PENDING, is PENDING"}},
		{"has waited", example.Running, "PENDING", told(selected, status(notification.Sent, "", -time.Second)), example.Completed, nil},
		{"did not wait", example.Running, "PENDING", told(selected, status(notification.Sent, "", time.Hour)), example.Completed, []string{
			"e: CUSTOMER/42 EMAIL: expected PENDING, is SENT", "e: expected outcome RUNNING, it is COMPLETED",
		}},
		{"nobody was told", example.Completed, "SENT", report.EventDetail{}, example.Completed, []string{"e: CUSTOMER/42 was not told"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			event := expecting(t, tt.outcome, `{"CUSTOMER/42":{"EMAIL":"`+tt.result+`"}}`)
			require.Equal(t, tt.want, Deviations(event, Observation{Detail: tt.detail, Outcome: tt.ended}, now))
		})
	}
}

func TestDeviationsOfStrangers(t *testing.T) {
	t.Parallel()

	event := expecting(t, example.Completed, `{}`)
	seen := Observation{Detail: told(notification.DecisionSelected, status(notification.Sent, "", 0)), Outcome: example.Completed}
	require.Equal(t, []string{"e: CUSTOMER/42 was told, but should not be"}, Deviations(event, seen, now))

	event = expecting(t, example.Completed, `{"CUSTOMER/42":{}}`)
	require.Equal(t, []string{"e: CUSTOMER/42 EMAIL: expected nothing, was decided SELECTED"}, Deviations(event, seen, now))
}

func TestSettled(t *testing.T) {
	t.Parallel()

	waiting := told(notification.DecisionSelected, status(notification.Pending, "", time.Hour))
	soon := told(notification.DecisionSelected, status(notification.Pending, "", time.Second))
	atOnce := told(notification.DecisionSelected, status(notification.Pending, "", 0))
	tests := []struct {
		name      string
		outcome   string
		detail    report.EventDetail
		processed notification.ProcessedStatus
		want      bool
	}{
		{"not started", example.Completed, report.EventDetail{}, "", false},
		{"under way", example.Completed, report.EventDetail{}, "PROCESSING", false},
		{"ended", example.Completed, report.EventDetail{}, "SUCCESS", true},
		{"ended badly", example.Completed, report.EventDetail{}, "FAILED", true},
		{"not planned yet", example.Running, report.EventDetail{}, "PROCESSING", false},
		{"waits for long", example.Running, waiting, "PROCESSING", true},
		{"waits, and should not", example.Completed, waiting, "PROCESSING", false},
		{"waits a moment", example.Running, soon, "PROCESSING", false},
		{"not sent yet", example.Running, atOnce, "PROCESSING", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			if tt.processed != "" {
				tt.detail.Processed = &report.ProcessedRow{Status: notification.ProcessedStatus(tt.processed)}
			}
			event := expecting(t, tt.outcome, `{"CUSTOMER/42":{"EMAIL":"PENDING"}}`)
			require.Equal(t, tt.want, isSettled(event, tt.detail, now.Add(time.Minute)))
		})
	}
}
