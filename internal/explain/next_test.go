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
		{name: "sent", delivery: status(notification.Sent), workflow: inState("COMPLETED"), want: "nothing: it was sent at 2026-11-21 10:00:00.000Z"},
		{name: "arrived", delivery: status(notification.Delivered), workflow: inState(Unreachable), want: "nothing: it arrived at 2026-11-21 10:04:05.000Z"},
		{name: "cancelled", delivery: status(notification.Cancelled), workflow: inState("CANCELED"), want: "nothing: it was cancelled. To send it all the same, run " + retry},
		{name: "opted out while it waited", delivery: dropped("USER_DISABLED"), workflow: inState("COMPLETED"),
			want: "nothing: it waited, and when it was due the recipient had switched SMS off, and it is not mandatory for this event type. To send it all the same, run " + retry},
		{name: "left while it waited", delivery: dropped(notification.NoLongerRecipient), workflow: inState("COMPLETED"),
			want: "nothing: it waited, and when it was due the recipient had left: not in the directory, not active, or no longer a member of the entity that the event concerns. To send it all the same, run " + retry},
		{name: "due in quiet hours", delivery: dropped(notification.WaitQuietHours), workflow: inState("COMPLETED"),
			want: "nothing: it waited, and when it was due it was quiet hours for them or their entity, and what comes in quiet hours is dropped. To send it all the same, run " + retry},
		{name: "refused", delivery: failed("REFUSED"), workflow: inState("FAILED"), want: "nothing: it failed. Correct what the provider refused: the recipient's address, or the text, then run " + retry},
		{name: "busy to the end", delivery: failed("BUSY"), workflow: inState("FAILED"), want: "nothing: it failed. Wait until the provider answers again, then run " + retry},
		{name: "never clear", delivery: failed("AMBIGUOUS"), workflow: inState(Unknown), want: "nothing: it failed. Wait until the provider answers again, then run " + retry},
		{name: "account", delivery: failed("ACCOUNT"), workflow: inState("FAILED"), want: "nothing: it failed. Mend the worker's credentials for SMS, then run " + retry},
		{name: "our own error", delivery: failed("ERROR"), workflow: inState(Unreachable), want: "nothing: it failed. Mend what the last error names, then run " + retry},
		{name: "no text", delivery: report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}}, workflow: inState("FAILED"),
			want: "nothing: it failed. Mend what the last error names: the template, the payload or the time zone, then run " + retry},
		{name: "back-off", delivery: tried, workflow: running(func(s *Sending) {
			s.Before, s.Pending = 1, []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), want: "the next attempt is due at 2026-11-21 10:04:05.000Z, attempt 3 of 3" + hasten},
		{name: "our account is rejected", delivery: rejected, workflow: running(func(s *Sending) {
			s.Pending = []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), want: "the provider rejects our account: it is tried once a minute, next at 2026-11-21 10:04:05.000Z, and fails a day after the first time. Mend the worker's credentials for SMS"},
		{name: "our account was rejected", delivery: rejected, workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), want: "attempt 2 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{name: "under way", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), want: "attempt 1 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{name: "due", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: "SCHEDULED"}), want: "attempt 1 of 3 is due: a worker takes it in a moment"},
		{name: "attempts not known", delivery: status(notification.Pending), workflow: running(func(s *Sending) {
			s.MaxAttempts, s.Pending = 0, []PendingActivity{{Activity: "Send", State: "SCHEDULED"}}
		}), want: "attempt 1 is due: a worker takes it in a moment"},
		{name: "paused", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: Paused}), want: "attempt 1 of 3 is paused: resume the activity in the Temporal Web UI"},
		{name: "failed, and told to the dead-letter queue", delivery: failed("REFUSED"), workflow: sendIs(PendingActivity{Activity: "GiveUp", State: "SCHEDULED", Attempt: 7}),
			want: "its workflow is at GiveUp, attempt 7; `starter delivery show d` has its last failure"},
		{name: "waits", delivery: waiting, workflow: details("waiting until 08:00 Europe/Rome: quiet hours"), want: "it waits until 08:00 Europe/Rome: quiet hours" + hasten},
		{name: "waits, says its row", delivery: waiting, workflow: running(nil), want: "it waits until 11:04 Europe/Rome: quiet hours" + hasten},
		{name: "delayed, says its row", delivery: delayed, workflow: running(nil), want: "it waits until 11:04 Europe/Rome: delay" + hasten},
		{name: "between two steps", delivery: status(notification.Pending), workflow: running(nil), want: "its workflow goes on: look again in a moment"},
		{name: "no worker", delivery: waiting, workflow: running(func(s *Sending) { s.Workers = 0 }), want: "nothing, until a worker serves the task queue herald-sms: start one"},
		{name: "digest collects", delivery: item, workflow: digest(details("3 of at most 100 joined")), want: "it is sent in its digest digest-1, which says: 3 of at most 100 joined" + hasten},
		{name: "digest sends", delivery: item, workflow: digest(sendIs(PendingActivity{Activity: "SendDigest", State: Started, StartedAt: &nextNow})), want: "attempt 1 of 3 is under way, since 2026-11-21 10:00:00.000Z"},
		{name: "digest unserved", delivery: item, workflow: digest(running(func(s *Sending) { s.Workers = 0 })), want: "nothing, until a worker serves the task queue herald-sms: start one"},
		{name: "digest gone", delivery: item, workflow: digest(inState("TERMINATED")), want: "it joins another digest by itself: digest-1 is TERMINATED"},
		{name: "terminated", delivery: status(notification.Pending), workflow: inState("TERMINATED"), want: "nothing: nobody works on it, its workflow is TERMINATED. Run " + retry},
		{name: "without Temporal", delivery: waiting, workflow: inState(Unreachable), want: "not known, since Temporal is out of reach. By its row it waits until 11:04 Europe/Rome: quiet hours"},
		{name: "without Temporal, in a digest", delivery: item, workflow: inState(Unreachable), want: "not known, since Temporal is out of reach. By its row it waits for its digest"},
		{name: "without Temporal, at once", delivery: status(notification.Pending), workflow: inState(Unreachable), want: "not known, since Temporal is out of reach. By its row it is to be sent at once"},
		{name: "forgotten", delivery: status(notification.Pending), workflow: inState(Unknown), want: "nothing: nobody works on it. Run " + retry},
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
		{name: "waits", view: Why{Outbox: outbox("PENDING", "")}, want: "a poller starts it; `starter poller status` says whether one runs"},
		{name: "cannot be started", view: Why{Outbox: outbox("FAILED", "")}, want: "nothing, until it is mended and put back with `starter event retry evt-1`"},
		{name: "runs", view: Why{EventWorkflow: &WorkflowView{Status: Running}}, want: "its workflow is running; `starter event show evt-1` says how far it is"},
		{name: "failed", view: Why{Processed: &report.ProcessedRow{Status: "FAILED"}}, want: "nothing, until it is put back with `starter event retry evt-1`"},
		{name: "over", view: Why{Processed: &report.ProcessedRow{Status: "SUCCESS"}}, want: "nothing: an event is planned once. Mended rows are for the events to come"},
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
		{name: "routed later", view: Why{DecidedAt: &nextNow, Rules: named}, want: "nothing was decided about SMS: the event's type was not routed over it when the event was planned"},
		{name: "pending", view: Why{Outbox: outbox("PENDING", "")}, want: "nothing was decided yet: the event waits in the outbox to be started"},
		{name: "failed", view: Why{Outbox: outbox("FAILED", "claimed 10 times")}, want: "nothing was decided: the event could not be started: claimed 10 times"},
		{name: "routed nowhere", view: Why{Processed: processed("SUCCESS")}, want: "nothing was decided about anybody: the event's type has no rows in event_type_channel_routing"},
		{name: "unknown", view: Why{Rules: RulesNow{RoutedChannels: sms}}, want: "nothing was decided about them: they are not in the directory (recipient)"},
		{name: "inactive", view: Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true}}, want: "nothing was decided about them: they are not active (recipient)"},
		{name: "not named", view: Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true, RecipientActive: true, Unreached: []string{"a", "b"}}},
			want: "nothing was decided about them, since the event does not name them: a; b"},
		{name: "being planned", view: Why{Rules: named, Processed: processed("PROCESSING")}, want: "nothing was decided about them yet: the event is being planned"},
		{name: "not planned", view: Why{Rules: named, Processed: processed("FAILED")}, want: "nothing was decided about them: the event was cancelled, or could not be planned, before it came to them"},
		{name: "joined later", view: Why{Rules: named, Processed: processed("SUCCESS")}, want: "nothing was decided about them when the event was planned; by the rows as they are now it would name them"},
	}
	for _, tt := range tests {
		tt.view.Channel = notification.SMS
		require.Equal(t, tt.want, tt.view.whyUndecided(), tt.name)
	}
}

func outbox(status notification.OutboxStatus, problem string) *report.LeasedRow {
	return &report.LeasedRow{OutboxRow: report.OutboxRow{Status: status, ErrorMessage: problem}}
}
