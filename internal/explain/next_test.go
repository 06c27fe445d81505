package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

var (
	nextNow = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	later   = nextNow.Add(4*time.Minute + 5*time.Second)
)

// running is the state of a workflow that runs and is served.
func running(change func(s *Sending)) Sending {
	s := Sending{WorkflowView: WorkflowView{Status: Running}, TaskQueue: "herald-sms", Workers: 1, MaxAttempts: 3}
	if change != nil {
		change(&s)
	}
	return s
}

// sendIs is one that is at Send, or at another activity.
func sendIs(p PendingActivity) Sending {
	return running(func(s *Sending) { s.Pending = []PendingActivity{p} })
}

func inState(status string) Sending {
	return Sending{WorkflowView: WorkflowView{Status: status}}
}

func attempt(number int, outcome notification.AttemptOutcome) report.AttemptRow {
	row := report.AttemptRow{Attempt: number, StartedAt: nextNow, Outcome: outcome}
	if outcome != "" {
		row.EndedAt = &later
	}
	return row
}

func TestNextOfADelivery(t *testing.T) {
	t.Parallel()

	failed := func(outcome notification.AttemptOutcome) report.DeliveryDetail {
		return report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}, HasText: true, Log: []report.AttemptRow{attempt(1, outcome)}}
	}
	status := func(s notification.Status) report.DeliveryDetail {
		return report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: s, SentAt: &nextNow, DeliveredAt: &later}, HasText: true}
	}
	waiting := status(notification.Pending)
	waiting.SendAfter = &later
	delayed := waiting
	delayed.Strategy = notification.Delayed
	item := status(notification.Pending)
	item.Strategy = notification.Aggregate
	tried := status(notification.Pending)
	tried.Log = []report.AttemptRow{attempt(1, "BUSY"), attempt(2, ""), attempt(3, "BUSY"), attempt(4, "BUSY")}
	dropped := func(reason string) report.DeliveryDetail {
		d := status(notification.Cancelled)
		d.Channel, d.UserType, d.LastError = notification.SMS, notification.RestaurantUser, reason
		return d
	}
	rejected := status(notification.Pending)
	rejected.Channel = notification.SMS
	rejected.Log = []report.AttemptRow{attempt(1, "BUSY"), attempt(2, "ACCOUNT"), attempt(3, "ACCOUNT")}
	const retry = "`starter delivery retry d`"
	const hasten = ". `starter delivery send-now d` does not wait"
	digest := func(in Sending) Sending {
		return running(func(s *Sending) { s.DigestID, s.Digest = "digest-1", &in })
	}
	details := func(text string) Sending { return running(func(s *Sending) { s.Details = text }) }

	tests := []struct {
		name     string
		delivery report.DeliveryDetail
		workflow Sending
		want     string
	}{
		{"sent", status(notification.Sent), inState("COMPLETED"), "nothing: it was sent at 2026-11-21 10:00:00.000Z"},
		{"arrived", status(notification.Delivered), inState(Unreachable), "nothing: it arrived at 2026-11-21 10:04:05.000Z"},
		{"cancelled", status(notification.Cancelled), inState("CANCELED"), "nothing: it was cancelled. To send it all the same, run " + retry},
		{"opted out while it waited", dropped("USER_DISABLED"), inState("COMPLETED"),
			"nothing: it waited, and when it was due the recipient had switched SMS off, and it is not mandatory for this event type. To send it all the same, run " + retry},
		{"left while it waited", dropped(notification.NoLongerRecipient), inState("COMPLETED"),
			"nothing: it waited, and when it was due the recipient had left: not in the directory, not active, or no longer a member of the entity that the event concerns. To send it all the same, run " + retry},
		{"due in quiet hours", dropped(notification.WaitQuietHours), inState("COMPLETED"),
			"nothing: it waited, and when it was due it was quiet hours for them or their entity, and what comes in quiet hours is dropped. To send it all the same, run " + retry},
		{"refused", failed("REFUSED"), inState("FAILED"), "nothing: it failed. Correct what the provider refused: the recipient's address, or the text, then run " + retry},
		{"busy to the end", failed("BUSY"), inState("FAILED"), "nothing: it failed. Wait until the provider answers again, then run " + retry},
		{"never clear", failed("AMBIGUOUS"), inState(Unknown), "nothing: it failed. Wait until the provider answers again, then run " + retry},
		{"account", failed("ACCOUNT"), inState("FAILED"), "nothing: it failed. Mend the worker's credentials for SMS, then run " + retry},
		{"our own error", failed("ERROR"), inState(Unreachable), "nothing: it failed. Mend what the last error names, then run " + retry},
		{"no text", report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}}, inState("FAILED"),
			"nothing: it failed. Mend what the last error names: the template, the payload or the time zone, then run " + retry},
		{"back-off", tried, running(func(s *Sending) {
			s.Before, s.Pending = 1, []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), "the next attempt is due at 2026-11-21 10:04:05.000Z, attempt 3 of 3" + hasten},
		{"our account is rejected", rejected, running(func(s *Sending) {
			s.Pending = []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), "the provider rejects our account: it is tried once a minute, next at 2026-11-21 10:04:05.000Z, and fails a day after the first time. Mend the worker's credentials for SMS"},
		{"our account was rejected", rejected, sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), "attempt 2 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{"under way", status(notification.Pending), sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), "attempt 1 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{"due", status(notification.Pending), sendIs(PendingActivity{Activity: "Send", State: "SCHEDULED"}), "attempt 1 of 3 is due: a worker takes it in a moment"},
		{"attempts not known", status(notification.Pending), running(func(s *Sending) {
			s.MaxAttempts, s.Pending = 0, []PendingActivity{{Activity: "Send", State: "SCHEDULED"}}
		}), "attempt 1 is due: a worker takes it in a moment"},
		{"paused", status(notification.Pending), sendIs(PendingActivity{Activity: "Send", State: Paused}), "attempt 1 of 3 is paused: resume the activity in the Temporal Web UI"},
		{"failed, and told to the dead-letter queue", failed("REFUSED"), sendIs(PendingActivity{Activity: "GiveUp", State: "SCHEDULED", Attempt: 7}),
			"its workflow is at GiveUp, attempt 7; `starter delivery show d` has its last failure"},
		{"waits", waiting, details("waiting until 08:00 Europe/Rome: quiet hours"), "it waits until 08:00 Europe/Rome: quiet hours" + hasten},
		{"waits, says its row", waiting, running(nil), "it waits until 11:04 Europe/Rome: quiet hours" + hasten},
		{"delayed, says its row", delayed, running(nil), "it waits until 11:04 Europe/Rome: delay" + hasten},
		{"between two steps", status(notification.Pending), running(nil), "its workflow goes on: look again in a moment"},
		{"no worker", waiting, running(func(s *Sending) { s.Workers = 0 }), "nothing, until a worker serves the task queue herald-sms: start one"},
		{"digest collects", item, digest(details("3 of at most 100 joined")), "it is sent in its digest digest-1, which says: 3 of at most 100 joined" + hasten},
		{"digest sends", item, digest(sendIs(PendingActivity{Activity: "SendDigest", State: Started, StartedAt: &nextNow})), "attempt 1 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{"digest unserved", item, digest(running(func(s *Sending) { s.Workers = 0 })), "nothing, until a worker serves the task queue herald-sms: start one"},
		{"digest gone", item, digest(inState("TERMINATED")), "it joins another digest by itself: digest-1 is TERMINATED"},
		{"terminated", status(notification.Pending), inState("TERMINATED"), "nothing: nobody works on it, its workflow is TERMINATED. Run " + retry},
		{"without Temporal", waiting, inState(Unreachable), "not known, since Temporal is out of reach. By its row it waits until 11:04 Europe/Rome: quiet hours"},
		{"without Temporal, in a digest", item, inState(Unreachable), "not known, since Temporal is out of reach. By its row it waits for its digest"},
		{"without Temporal, at once", status(notification.Pending), inState(Unreachable), "not known, since Temporal is out of reach. By its row it is to be sent at once"},
		{"forgotten", status(notification.Pending), inState(Unknown), "nothing: nobody works on it. Run " + retry},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			tt.delivery.DeliveryID, tt.delivery.Channel = "d", notification.SMS
			view := Why{Delivery: &tt.delivery, Workflow: &tt.workflow, Rules: RulesNow{Timezone: "Europe/Rome"}}

			require.Equal(t, tt.want, view.next(nextNow))
		})
	}
	pending := status(notification.Pending)
	pending.EventID = "evt-1"
	unknown := inState(Unknown)
	view := Why{Delivery: &pending, Workflow: &unknown, Processed: &report.ProcessedRow{Status: "PROCESSING"}}
	require.Equal(t, "its event's workflow starts it; `starter event show evt-1` says how far that is", view.next(nextNow))
}

func TestNextWithoutADelivery(t *testing.T) {
	t.Parallel()

	for _, decision := range notification.Decisions() {
		if decision == notification.DecisionSelected {
			continue
		}
		view := Why{Decision: decision, Channel: notification.SMS}
		require.Equal(t, "nothing: what was decided stays. For the events to come: "+decision.Remedy(notification.SMS), view.next(nextNow))
	}
	require.Equal(t, "nothing: its delivery was purged", Why{Decision: notification.DecisionSelected}.next(nextNow))

	tests := []struct {
		name string
		view Why
		want string
	}{
		{"waits", Why{Outbox: outbox("PENDING", "")}, "a poller starts it; `starter poller status` says whether one runs"},
		{"cannot be started", Why{Outbox: outbox("FAILED", "")}, "nothing, until it is mended and put back with `starter event retry evt-1`"},
		{"runs", Why{EventWorkflow: &WorkflowView{Status: Running}}, "its workflow is running; `starter event show evt-1` says how far it is"},
		{"failed", Why{Processed: &report.ProcessedRow{Status: "FAILED"}}, "nothing, until it is put back with `starter event retry evt-1`"},
		{"over", Why{Processed: &report.ProcessedRow{Status: "SUCCESS"}}, "nothing: an event is planned once. Mended rows are for the events to come"},
	}
	for _, tt := range tests {
		tt.view.EventID = "evt-1"
		require.Equal(t, tt.want, tt.view.next(nextNow), tt.name)
	}
}

func TestWhyUndecided(t *testing.T) {
	t.Parallel()

	sms := []notification.Channel{notification.SMS}
	named := RulesNow{RoutedChannels: sms, RecipientKnown: true, RecipientActive: true}
	processed := func(status notification.ProcessedStatus) *report.ProcessedRow {
		return &report.ProcessedRow{Status: status}
	}
	tests := []struct {
		name string
		view Why
		want string
	}{
		{"routed later", Why{DecidedAt: &nextNow, Rules: named}, "nothing was decided about SMS: the event's type was not routed over it when the event was planned"},
		{"pending", Why{Outbox: outbox("PENDING", "")}, "nothing was decided yet: the event waits in the outbox to be started"},
		{"failed", Why{Outbox: outbox("FAILED", "claimed 10 times")}, "nothing was decided: the event could not be started: claimed 10 times"},
		{"routed nowhere", Why{Processed: processed("SUCCESS")}, "nothing was decided about anybody: the event's type has no rows in event_type_channel_routing"},
		{"unknown", Why{Rules: RulesNow{RoutedChannels: sms}}, "nothing was decided about them: they are not in the directory (recipient)"},
		{"inactive", Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true}}, "nothing was decided about them: they are not active (recipient)"},
		{"not named", Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true, RecipientActive: true, Unreached: []string{"a", "b"}}},
			"nothing was decided about them, since the event does not name them: a; b"},
		{"being planned", Why{Rules: named, Processed: processed("PROCESSING")}, "nothing was decided about them yet: the event is being planned"},
		{"not planned", Why{Rules: named, Processed: processed("FAILED")}, "nothing was decided about them: the event was cancelled, or could not be planned, before it came to them"},
		{"joined later", Why{Rules: named, Processed: processed("SUCCESS")}, "nothing was decided about them when the event was planned; by the rows as they are now it would name them"},
	}
	for _, tt := range tests {
		tt.view.Channel = notification.SMS
		require.Equal(t, tt.want, tt.view.whyUndecided(), tt.name)
	}
}

func outbox(status notification.OutboxStatus, problem string) *report.LeasedRow {
	return &report.LeasedRow{OutboxRow: report.OutboxRow{Status: status, ErrorMessage: problem}}
}
