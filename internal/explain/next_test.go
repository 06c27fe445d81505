package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/report"
)

var (
	nextNow = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	later   = nextNow.Add(4*time.Minute + 5*time.Second)
)

// running returns the state of a running workflow that has a worker.
func running(change func(s *Sending)) Sending {
	s := Sending{WorkflowView: WorkflowView{Status: Running}, TaskQueue: "herald-sms", Workers: 1, MaxAttempts: 3}
	if change != nil {
		change(&s)
	}
	return s
}

// sendIs returns a running workflow with one pending activity, for example Send.
func sendIs(p PendingActivity) Sending {
	return running(func(s *Sending) { s.Pending = []PendingActivity{p} })
}

func inState(status string) Sending {
	return Sending{WorkflowView: WorkflowView{Status: status}}
}

func tried(number int, outcome notification.AttemptOutcome) report.AttemptRow {
	row := report.AttemptRow{Attempt: number, StartedAt: nextNow, Outcome: outcome}
	if outcome != "" {
		row.EndedAt = &later
	}
	return row
}

// A retried reminder waits for its due time. The next step tells so beforehand.
func TestNextOfAReminderThatEnded(t *testing.T) {
	t.Parallel()

	for _, status := range []notification.Status{notification.Cancelled, notification.Failed} {
		w := Why{Workflow: &Sending{}, OwnTime: &later, Delivery: &report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d", Status: status}, HasText: true}}
		require.Contains(t, w.next(nextNow), "`starter delivery retry d`, which waits until its due time, 2026-11-21 10:04:05.000Z; `starter delivery send-now d` sends it now", status)
		w.OwnTime = nil
		require.NotContains(t, w.next(nextNow), "due time", status)
	}
}

// If a bounce has suppressed the address, a retry would send nothing. The next step tells how to
// lift the suppression first.
func TestNextOfASuppressedAddress(t *testing.T) {
	t.Parallel()

	w := Why{
		Channel: notification.Email, Workflow: &Sending{}, Rules: RulesNow{Findings: []notification.Finding{{Decision: notification.DecisionSuppressed, Applies: true}}},
		Delivery: &report.DeliveryDetail{DeliveryRow: report.DeliveryRow{DeliveryID: "d", Status: notification.Failed}, ReceiptFailed: true, HasText: true},
	}
	for _, want := range []string{"did not arrive", "first enter another address", "starter suppression remove --channel EMAIL", "then run `starter delivery retry d`"} {
		require.Contains(t, w.next(nextNow), want)
	}
	w.Rules.Findings[0].Applies = false
	require.NotContains(t, w.next(nextNow), "suppression")
}

func TestNextOfADelivery(t *testing.T) {
	t.Parallel()

	failed := func(outcome notification.AttemptOutcome) report.DeliveryDetail {
		return report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}, HasText: true, Log: []report.AttemptRow{tried(1, outcome)}}
	}
	failedBy := func(row report.AttemptRow) report.DeliveryDetail {
		d := failed(row.Outcome)
		d.Log[0].ProviderStatus, d.Log[0].Detail = row.ProviderStatus, row.Detail
		return d
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
	failing := status(notification.Pending)
	failing.Log = []report.AttemptRow{tried(1, "BUSY"), tried(2, ""), tried(3, "BUSY"), tried(4, "BUSY")}
	dropped := func(reason string) report.DeliveryDetail {
		d := status(notification.Cancelled)
		d.Channel, d.UserType, d.LastError = notification.SMS, notification.RestaurantUser, reason
		return d
	}
	rejected := status(notification.Pending)
	rejected.Channel = notification.SMS
	rejected.Log = []report.AttemptRow{tried(1, "BUSY"), tried(2, "ACCOUNT"), tried(3, "ACCOUNT")}
	deferred := status(notification.Sent)
	deferred.Receipts = []report.ReceiptRow{{At: nextNow, Status: "processed"}, {At: later, Status: "deferred"}}
	read := status(notification.Delivered)
	read.ReadAt = &later
	bounced := failed("SENT")
	bounced.ReceiptFailed = true
	const retry, hasten = "`starter delivery retry d`", "`starter delivery send-now d`"
	digest := func(in Sending) Sending {
		return running(func(s *Sending) { s.DigestID, s.Digest = "digest-1", &in })
	}
	details := func(text string) Sending { return running(func(s *Sending) { s.Details = text }) }

	batch := func(workers int) Sending {
		batch := Sending{WorkflowView: WorkflowView{Status: Running}, TaskQueue: "herald-sms-batches", Workers: workers}
		return Sending{WorkflowView: WorkflowView{Status: Unknown}, BatchID: "evt-1-batch-SMS-3", Batch: &batch}
	}
	allBusy := batch(0)
	allBusy.Batch.Pending = []PendingActivity{{Activity: "SendBatch", State: Started, Attempt: 1}}
	inBatch := func(log ...report.AttemptRow) report.DeliveryDetail {
		d := status(notification.Pending)
		d.Channel, d.Log = notification.SMS, log
		return d
	}

	tests := []struct {
		name     string
		delivery report.DeliveryDetail
		workflow Sending
		tells    []string
	}{
		{name: "sent", delivery: status(notification.Sent), workflow: inState("COMPLETED"), tells: []string{"sent at 2026-11-21 10:00:00"}},
		{name: "arrived", delivery: status(notification.Delivered), workflow: inState(Unreachable), tells: []string{"arrived at 2026-11-21 10:04:05"}},
		{name: "sent, and its provider still tries", delivery: deferred, workflow: inState("COMPLETED"), tells: []string{"sent at 2026-11-21 10:00:00", "last receipt, of 2026-11-21 10:04:05", "says deferred"}},
		{name: "in a batch", delivery: inBatch(), workflow: batch(1), tells: []string{"evt-1-batch-SMS-3", "`starter delivery cancel d`"}},
		{name: "in a batch whose workers have no free slots", delivery: inBatch(), workflow: allBusy, tells: []string{"the running batch evt-1-batch-SMS-3 sends it"}},
		{name: "in a batch without workers", delivery: inBatch(), workflow: batch(0), tells: []string{"until a worker serves SMS", "herald-sms-batches"}},
		{name: "under way in a batch", delivery: inBatch(tried(1, "")), workflow: batch(1), tells: []string{"evt-1-batch-SMS-3 is under way", "separate workflow"}},
		{name: "failed for now in a batch", delivery: inBatch(tried(1, "BUSY")), workflow: batch(1), tells: []string{"separate workflow makes the next attempt", "evt-1-batch-SMS-3 has made all first"}},
		{name: "read", delivery: read, workflow: inState("COMPLETED"), tells: []string{"arrived at", "read at 2026-11-21 10:04:05"}},
		{name: "bounced", delivery: bounced, workflow: inState("COMPLETED"), tells: []string{"accepted it", "said later that it did not arrive", "last error", "enter another", "recipient", retry}},
		{name: "cancelled", delivery: status(notification.Cancelled), workflow: inState("CANCELED"), tells: []string{"cancelled", retry}},
		{name: "opted out while it waited", delivery: dropped("USER_DISABLED"), workflow: inState("COMPLETED"),
			tells: []string{"when it was due", "switched SMS off", retry}},
		{name: "left while it waited", delivery: dropped(notification.NoLongerRecipient), workflow: inState("COMPLETED"),
			tells: []string{"when it was due", "left", "directory", "active", "member", retry}},
		{name: "suppressed while it waited", delivery: dropped("SUPPRESSED"), workflow: inState("COMPLETED"),
			tells: []string{"when it was due", "did not work", "first", "another address", "starter suppression remove", retry}},
		{name: "without an address when it was due", delivery: dropped("NO_ADDRESS"), workflow: inState("COMPLETED"),
			tells: []string{"no phone number", "first enter their phone number", retry}},
		{name: "due in quiet hours", delivery: dropped("QUIET_HOURS"), workflow: inState("COMPLETED"),
			tells: []string{"when it was due", "quiet hours", "dropped", retry}},
		{name: "refused", delivery: failedBy(report.AttemptRow{Outcome: "REFUSED", ProviderStatus: 400}), workflow: inState("FAILED"), tells: []string{"failed", "the provider refused", "address", "text", retry}},
		{name: "not asked", delivery: failed("REFUSED"), workflow: inState("FAILED"), tells: []string{"failed", "last error names", "setting of the workers", retry}},
		{name: "not configured", delivery: failed(notification.OutcomeOff), workflow: inState("FAILED"),
			tells: []string{"failed", "workers that serve SMS", "restart", retry}},
		{name: "busy at every attempt", delivery: failed("BUSY"), workflow: inState("FAILED"), tells: []string{"failed", "provider answers again", retry}},
		{name: "ambiguous at every attempt", delivery: failed("AMBIGUOUS"), workflow: inState(Unknown), tells: []string{"failed", "provider answers again", retry}},
		{name: "account", delivery: failed("ACCOUNT"), workflow: inState("FAILED"), tells: []string{"failed", "credentials for SMS", retry}},
		{name: "our own error", delivery: failed("ERROR"), workflow: inState(Unreachable), tells: []string{"failed", "last error", retry}},
		{name: "no text", delivery: report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}}, workflow: inState("FAILED"),
			tells: []string{"failed", "template", "payload", "time zone", retry}},
		{name: "back-off", delivery: failing, workflow: running(func(s *Sending) {
			s.Before, s.Pending = 1, []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), tells: []string{"2026-11-21 10:04:05", "attempt 3 of 3", hasten}},
		{name: "back-off of the workflow itself", delivery: inBatch(tried(1, "BUSY")), workflow: running(func(s *Sending) {
			s.Details, s.WaitsUntil, s.beganWithAttempt = "waiting until 10:04:05", &later, true
		}), tells: []string{"next attempt is due at 2026-11-21 10:04:05", "attempt 2 of 3", hasten}},
		{name: "held before its first attempt", delivery: status(notification.Pending), workflow: running(func(s *Sending) {
			s.Details, s.WaitsUntil, s.beganWithAttempt = "waiting until 10:04:05: quiet hours", &later, true
		}), tells: []string{"it is waiting until 10:04:05: quiet hours", hasten}},
		{name: "our account is rejected", delivery: rejected, workflow: running(func(s *Sending) {
			s.Pending = []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		}), tells: []string{"rejects our account", "once a minute", "2026-11-21 10:04:05", "fails a day after", "credentials for SMS"}},
		{name: "our account was rejected", delivery: rejected, workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), tells: []string{"attempt 2 of 3 is under way", "2026-11-21 10:00:00"}},
		{name: "under way", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow}), tells: []string{"attempt 1 of 3 is under way", "2026-11-21 10:00:00"}},
		{name: "due", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: "SCHEDULED"}), tells: []string{"attempt 1 of 3 is due"}},
		{name: "attempts not known", delivery: status(notification.Pending), workflow: running(func(s *Sending) {
			s.MaxAttempts, s.Pending = 0, []PendingActivity{{Activity: "Send", State: "SCHEDULED"}}
		}), tells: []string{"attempt 1 is due"}},
		{name: "paused", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: Paused}), tells: []string{"attempt 1 of 3 is paused", "resume", "Temporal Web UI"}},
		{name: "failed, and the failure is being recorded", delivery: failed("REFUSED"), workflow: sendIs(PendingActivity{Activity: "GiveUp", State: "SCHEDULED", Attempt: 7}),
			tells: []string{"GiveUp", "attempt 7", "`starter delivery show d`"}},
		{name: "waits", delivery: waiting, workflow: running(func(s *Sending) { s.Details, s.WaitsUntil = "waiting until 08:00 Europe/Rome: quiet hours", &later }), tells: []string{"until 08:00 Europe/Rome: quiet hours", hasten}},
		{name: "waits, by its row", delivery: waiting, workflow: running(nil), tells: []string{"until 11:04 Europe/Rome: quiet hours", hasten}},
		{name: "delayed, by its row", delivery: delayed, workflow: running(nil), tells: []string{"until 11:04 Europe/Rome: delay", hasten}},
		{name: "between two steps", delivery: status(notification.Pending), workflow: running(nil), tells: []string{"continues", "look again"}},
		{name: "no worker", delivery: waiting, workflow: running(func(s *Sending) { s.Workers = 0 }), tells: []string{"nothing", "worker", "herald-sms"}},
		{name: "digest collects", delivery: item, workflow: digest(details("3 of at most 100 joined")), tells: []string{"digest-1", "3 of at most 100 joined", hasten}},
		{name: "digest sends", delivery: item, workflow: digest(sendIs(PendingActivity{Activity: "SendDigest", State: Started, StartedAt: &nextNow})), tells: []string{"attempt 1 of 3 is under way", "2026-11-21 10:00:00"}},
		{name: "digest unserved", delivery: item, workflow: digest(running(func(s *Sending) { s.Workers = 0 })), tells: []string{"nothing", "worker", "herald-sms"}},
		{name: "digest gone", delivery: item, workflow: digest(inState("TERMINATED")), tells: []string{"joins another digest", "digest-1 is TERMINATED"}},
		{name: "terminated", delivery: status(notification.Pending), workflow: inState("TERMINATED"), tells: []string{"its workflow is TERMINATED", retry}},
		{name: "without Temporal", delivery: waiting, workflow: inState(Unreachable), tells: []string{"Temporal is out of reach", "until 11:04 Europe/Rome: quiet hours"}},
		{name: "without Temporal, in a digest", delivery: item, workflow: inState(Unreachable), tells: []string{"Temporal is out of reach", "waits for its digest"}},
		{name: "without Temporal, at once", delivery: status(notification.Pending), workflow: inState(Unreachable), tells: []string{"Temporal is out of reach", "sent at once"}},
		{name: "workflow past its retention", delivery: status(notification.Pending), workflow: inState(Unknown), tells: []string{"no workflow has it", retry}},
	}
	for _, tt := range tests {
		tt.delivery.DeliveryID, tt.delivery.Channel = "d", notification.SMS
		view := Why{Delivery: &tt.delivery, Workflow: &tt.workflow, Rules: RulesNow{Timezone: "Europe/Rome"}}

		requireTells(t, tt.tells, view.next(nextNow), tt.name)
	}
	pending := status(notification.Pending)
	pending.EventID = "evt-1"
	unknown := inState(Unknown)
	view := Why{Delivery: &pending, Workflow: &unknown, Processed: &report.ProcessedRow{Status: "PROCESSING"}}
	requireTells(t, []string{"event's workflow starts it", "`starter event show evt-1`"}, view.next(nextNow))
	unstarted := unknown
	unstarted.TaskQueue = "herald-events"
	view = Why{Delivery: &pending, Workflow: &unstarted, Processed: &report.ProcessedRow{Status: "PROCESSING"}}
	requireTells(t, []string{"nothing", "worker", "herald-events"}, view.next(nextNow))
	back := dropped("cancelled by event evt-2")
	back.DeliveryID = "d"
	view = Why{Delivery: &back, Workflow: &unknown, Outbox: cancelledRow("PROCESSED")}
	requireTells(t, []string{"nothing", "its event was cancelled by event evt-2", "`starter delivery retry d --again`"}, view.next(nextNow))
	back.Status = notification.Failed
	requireTells(t, []string{"it failed", "`starter delivery retry d --again`"}, view.next(nextNow))
	view.ErasedAt = &nextNow
	for _, back.Status = range []notification.Status{notification.Failed, notification.Cancelled} {
		require.Equal(t, "nothing: its recipient was erased at "+notification.InstantText(nextNow)+", and gets no more messages", view.next(nextNow))
	}
}

func cancelledRow(status notification.OutboxStatus) *report.LeasedRow {
	row := outbox(status, "")
	row.CancelledBy = "evt-2"
	return row
}

func TestNextWithoutADelivery(t *testing.T) {
	t.Parallel()

	for _, decision := range notification.Decisions() {
		if decision == notification.DecisionSelected {
			continue
		}
		view := Why{Decision: decision, Channel: notification.SMS}
		requireTells(t, []string{"nothing", "future events", decision.Remedy(notification.SMS)}, view.next(nextNow))
	}
	requireTells(t, []string{"purged"}, Why{Decision: notification.DecisionSelected}.next(nextNow))

	tests := []struct {
		name  string
		view  Why
		tells []string
	}{
		{name: "pending", view: Why{Outbox: outbox("PENDING", "")}, tells: []string{"poller", "`starter poller status`"}},
		{name: "cannot be started", view: Why{Outbox: outbox("FAILED", "")}, tells: []string{"corrects it", "`starter event retry evt-1`"}},
		{name: "cancelled", view: Why{Outbox: cancelledRow("PENDING")}, tells: []string{"nothing", "write a new event"}},
		{name: "cancelled after its end", view: Why{Outbox: cancelledRow("PROCESSED"), Processed: &report.ProcessedRow{Status: "SUCCESS"}}, tells: []string{"planned once"}},
		{name: "running", view: Why{EventWorkflow: &WorkflowView{Status: Running}}, tells: []string{"running", "`starter event show evt-1`"}},
		{name: "failed", view: Why{Processed: &report.ProcessedRow{Status: "FAILED"}}, tells: []string{"nothing", "`starter event retry evt-1`"}},
		{name: "ended", view: Why{Processed: &report.ProcessedRow{Status: "SUCCESS"}}, tells: []string{"nothing", "planned once", "future events"}},
	}
	for _, tt := range tests {
		tt.view.EventID = "evt-1"
		requireTells(t, tt.tells, tt.view.next(nextNow), tt.name)
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
		name  string
		view  Why
		tells []string
	}{
		{name: "routed later", view: Why{DecidedAt: &nextNow, Rules: named}, tells: []string{"about SMS", "not routed", "when the event was planned"}},
		{name: "pending", view: Why{Outbox: outbox("PENDING", "")}, tells: []string{"yet", "waits in the outbox"}},
		{name: "cancelled", view: Why{Outbox: cancelledRow("PROCESSED"), Processed: processed("FAILED")}, tells: []string{"the event was cancelled by event evt-2"}},
		{name: "cancelled after its end", view: Why{Outbox: cancelledRow("PROCESSED"), Rules: named, Processed: processed("SUCCESS")}, tells: []string{"when the event was planned", "names them"}},
		{name: "failed", view: Why{Outbox: outbox("FAILED", "claimed 10 times")}, tells: []string{"could not be started", "claimed 10 times"}},
		{name: "no routes", view: Why{Processed: processed("SUCCESS")}, tells: []string{"anybody", "event_type_channel_routing"}},
		{name: "unknown", view: Why{Rules: RulesNow{RoutedChannels: sms}}, tells: []string{"not in the directory", "recipient"}},
		{name: "inactive", view: Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true}}, tells: []string{"not active", "recipient"}},
		{name: "not named", view: Why{Rules: RulesNow{RoutedChannels: sms, RecipientKnown: true, RecipientActive: true, Unreached: []string{"a", "b"}}},
			tells: []string{"does not name them", "a; b"}},
		{name: "being planned", view: Why{Rules: named, Processed: processed("PROCESSING")}, tells: []string{"yet", "being planned"}},
		{name: "not planned", view: Why{Rules: named, Processed: processed("FAILED")}, tells: []string{"cancelled", "could not be planned"}},
		{name: "joined later", view: Why{Rules: named, Processed: processed("SUCCESS")}, tells: []string{"when the event was planned", "present rules", "names them"}},
	}
	for _, tt := range tests {
		tt.view.Channel = notification.SMS
		requireTells(t, tt.tells, tt.view.whyUndecided(), tt.name)
	}
}

// requireTells requires that a sentence contains each of these facts. of names the case.
func requireTells(t *testing.T, facts []string, sentence string, of ...any) {
	t.Helper()
	for _, fact := range facts {
		require.Contains(t, sentence, fact, of...)
	}
}

func outbox(status notification.OutboxStatus, problem string) *report.LeasedRow {
	return &report.LeasedRow{OutboxRow: report.OutboxRow{Status: status, ErrorMessage: problem}}
}
