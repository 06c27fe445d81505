package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
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

// nextCases are the states of a delivery, one for each sentence.
func nextCases() []nextCase {
	failed := func(outcome notification.AttemptOutcome) report.DeliveryDetail {
		return report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed},
			HasText: true, Log: []report.AttemptRow{tried(1, outcome)}}
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
	dated := item
	dated.SendAfter = &later
	replaced := func(s notification.Status) report.DeliveryDetail {
		d := status(s)
		d.ReplacedBy = "evt-9"
		return d
	}
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

	const pausedText = "optional messages over EMAIL are paused since 2026-11-21 09:00:00.000Z: " +
		"12 complaints of 3000 recipients in seven days at sendgrid, see `starter channel list`"
	pausedSender := func(activity string) PendingActivity {
		return PendingActivity{Activity: activity, State: "SCHEDULED", Attempt: 2, NextAttempt: &later, FailureType: activities.SenderPaused,
			LastFailure: pausedText}
	}
	pausedBatch := batch(1)
	pausedBatch.Batch.Pending = []PendingActivity{pausedSender("SendBatch")}

	return []nextCase{
		{name: "its sender is paused, in a batch", delivery: inBatch(), workflow: pausedBatch},
		{name: "its sender is paused, in a digest", delivery: item, workflow: digest(sendIs(pausedSender("SendDigest")))},
		{name: "sent", delivery: status(notification.Sent), workflow: inState("COMPLETED")},
		{name: "arrived", delivery: status(notification.Delivered), workflow: inState(Unreachable)},
		{name: "sent, and its provider still tries", delivery: deferred, workflow: inState("COMPLETED")},
		{name: "in a batch", delivery: inBatch(), workflow: batch(1)},
		{name: "in a batch whose workers have no free slots", delivery: inBatch(), workflow: allBusy},
		{name: "in a batch without workers", delivery: inBatch(), workflow: batch(0)},
		{name: "under way in a batch", delivery: inBatch(tried(1, "")), workflow: batch(1)},
		{name: "failed for now in a batch", delivery: inBatch(tried(1, "BUSY")), workflow: batch(1)},
		{name: "read", delivery: read, workflow: inState("COMPLETED")},
		{name: "bounced", delivery: bounced, workflow: inState("COMPLETED")},
		{name: "cancelled", delivery: status(notification.Cancelled), workflow: inState("CANCELED")},
		{name: "opted out while it waited", delivery: dropped("USER_DISABLED"), workflow: inState("COMPLETED")},
		{name: "left while it waited", delivery: dropped(notification.NoLongerRecipient), workflow: inState("COMPLETED")},
		{name: "suppressed while it waited", delivery: dropped("SUPPRESSED"), workflow: inState("COMPLETED")},
		{name: "without an address when it was due", delivery: dropped("NO_ADDRESS"), workflow: inState("COMPLETED")},
		{name: "due in quiet hours", delivery: dropped("QUIET_HOURS"), workflow: inState("COMPLETED")},
		{name: "refused", delivery: failedBy(report.AttemptRow{Outcome: "REFUSED", ProviderStatus: 400}), workflow: inState("FAILED")},
		{name: "not asked", delivery: failed("REFUSED"), workflow: inState("FAILED")},
		{name: "not configured", delivery: failed(notification.OutcomeOff), workflow: inState("FAILED")},
		{name: "busy at every attempt", delivery: failed("BUSY"), workflow: inState("FAILED")},
		{name: "ambiguous at every attempt", delivery: failed("AMBIGUOUS"), workflow: inState(Unknown)},
		{name: "account", delivery: failed("ACCOUNT"), workflow: inState("FAILED")},
		{name: "our own error", delivery: failed("ERROR"), workflow: inState(Unreachable)},
		{name: "no text", delivery: report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: notification.Failed}},
			workflow: inState("FAILED")},
		{name: "back-off", delivery: failing, workflow: running(func(s *Sending) {
			s.Before, s.Pending = 1, []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		})},
		{name: "back-off of the workflow itself", delivery: inBatch(tried(1, "BUSY")), workflow: running(func(s *Sending) {
			s.Details, s.WaitsUntil, s.beganWithAttempt = "waiting until 10:04:05: "+notification.WaitRetry, &later, true
		})},
		{name: "its sender is paused, after a failed attempt", delivery: inBatch(tried(1, "BUSY")), workflow: running(func(s *Sending) {
			s.Details, s.WaitsUntil, s.beganWithAttempt = "waiting until 10:04:05: "+pausedText, &later, true
		})},
		{name: "held before its first attempt", delivery: status(notification.Pending), workflow: running(func(s *Sending) {
			s.Details, s.WaitsUntil, s.beganWithAttempt = "waiting until 10:04:05: quiet hours", &later, true
		})},
		{name: "our account is rejected", delivery: rejected, workflow: running(func(s *Sending) {
			s.Pending = []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		})},
		{name: "our account was rejected", delivery: rejected,
			workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow})},
		{name: "under way", delivery: status(notification.Pending),
			workflow: sendIs(PendingActivity{Activity: "Send", State: Started, StartedAt: &nextNow})},
		{name: "due", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: "SCHEDULED"})},
		{name: "attempts not known", delivery: status(notification.Pending), workflow: running(func(s *Sending) {
			s.MaxAttempts, s.Pending = 0, []PendingActivity{{Activity: "Send", State: "SCHEDULED"}}
		})},
		{name: "paused", delivery: status(notification.Pending), workflow: sendIs(PendingActivity{Activity: "Send", State: Paused})},
		{name: "failed, and the failure is being recorded", delivery: failed("REFUSED"),
			workflow: sendIs(PendingActivity{Activity: "GiveUp", State: "SCHEDULED", Attempt: 7})},
		{name: "waits", delivery: waiting,
			workflow: running(func(s *Sending) { s.Details, s.WaitsUntil = "waiting until 08:00 Europe/Rome: quiet hours", &later })},
		{name: "waits, by its row", delivery: waiting, workflow: running(nil)},
		{name: "delayed, by its row", delivery: delayed, workflow: running(nil)},
		{name: "between two steps", delivery: status(notification.Pending), workflow: running(nil)},
		{name: "no worker", delivery: waiting, workflow: running(func(s *Sending) { s.Workers = 0 })},
		{name: "digest collects", delivery: item, workflow: digest(details("3 of at most 100 joined"))},
		{name: "digest sends", delivery: item,
			workflow: digest(sendIs(PendingActivity{Activity: "SendDigest", State: Started, StartedAt: &nextNow}))},
		{name: "digest unserved", delivery: item, workflow: digest(running(func(s *Sending) { s.Workers = 0 }))},
		{name: "digest gone", delivery: item, workflow: digest(inState("TERMINATED"))},
		{name: "terminated", delivery: status(notification.Pending), workflow: inState("TERMINATED")},
		{name: "without Temporal", delivery: waiting, workflow: inState(Unreachable)},
		{name: "without Temporal, in a digest", delivery: item, workflow: inState(Unreachable)},
		{name: "without Temporal, at once", delivery: status(notification.Pending), workflow: inState(Unreachable)},
		{name: "workflow past its retention", delivery: status(notification.Pending), workflow: inState(Unknown)},
		{name: "sent, and replaced later", delivery: replaced(notification.Sent), workflow: inState("COMPLETED")},
		{name: "replaced while it waited", delivery: replaced(notification.Cancelled), workflow: inState(Unknown)},
		{name: "failed without an attempt", delivery: status(notification.Failed), workflow: inState("FAILED")},
		{name: "expired while it waited", delivery: dropped(string(notification.DecisionExpired)), workflow: inState("COMPLETED")},
		{name: "the provider is out of reach", delivery: failing, workflow: running(func(s *Sending) {
			s.Outage, s.Pending = time.Hour, []PendingActivity{{Activity: "Send", State: "SCHEDULED", Attempt: 4, NextAttempt: &later}}
		})},
		{name: "without Temporal, in a digest with a time", delivery: dated, workflow: inState(Unreachable)},
	}
}

// nextCase is a state of a delivery and of its workflow.
type nextCase struct {
	name     string
	delivery report.DeliveryDetail
	workflow Sending
}

func TestNextOfADelivery(t *testing.T) {
	t.Parallel()

	var out strings.Builder
	note := func(name string, w Why) {
		w.EventID, w.Channel = "evt-1", notification.SMS
		if w.Delivery != nil {
			w.Delivery.DeliveryID, w.Delivery.EventID, w.Delivery.Channel = "d", "evt-1", notification.SMS
		}
		fmt.Fprintf(&out, "%s: %s\n", name, newMoment(w, nextNow).next())
	}
	for _, tt := range nextCases() {
		note(tt.name, Why{Delivery: &tt.delivery, Workflow: &tt.workflow, Rules: RulesNow{Timezone: "Europe/Rome"}, Ahead: "; then quiet hours"})
	}
	in := func(status notification.Status) *report.DeliveryDetail {
		return &report.DeliveryDetail{DeliveryRow: report.DeliveryRow{Status: status}, HasText: true}
	}
	unknown, unstarted := inState(Unknown), inState(Unknown)
	unstarted.TaskQueue = "herald-events"
	planning := &report.ProcessedRow{Status: "PROCESSING"}
	note("its event's workflow starts it", Why{Delivery: in(notification.Pending), Workflow: &unknown, Processed: planning})
	note("no worker for its event", Why{Delivery: in(notification.Pending), Workflow: &unstarted, Processed: planning})
	bounced := in(notification.Failed)
	bounced.ReceiptFailed = true
	note("bounced, and the address is suppressed", Why{Delivery: bounced, Workflow: &unknown,
		Rules: RulesNow{Findings: []notification.Finding{{Decision: notification.DecisionSuppressed, Applies: true}}}})
	for _, status := range []notification.Status{notification.Cancelled, notification.Failed} {
		note("of a cancelled event, "+string(status), Why{Delivery: in(status), Workflow: &unknown, Outbox: cancelledRow("PROCESSED")})
		note("of an erased recipient, "+string(status), Why{Delivery: in(status), Workflow: &unknown,
			Outbox: cancelledRow("PROCESSED"), ErasedAt: &nextNow})
		note("with a due time, "+string(status), Why{Delivery: in(status), Workflow: &unknown, OwnTime: &later})
	}
	for _, decision := range notification.Decisions() {
		note(string(decision), Why{Decision: decision})
	}
	roomtest.Golden(t, "next", out.String())
}

func cancelledRow(status notification.OutboxStatus) *report.LeasedRow {
	row := outbox(status, "")
	row.CancelledBy = "evt-2"
	return row
}

func outbox(status notification.OutboxStatus, problem string) *report.LeasedRow {
	return &report.LeasedRow{OutboxRow: report.OutboxRow{Status: status, ErrorMessage: problem}}
}

// Each state has a case above or below, and each of its words has a value.
func TestEveryState(t *testing.T) {
	t.Parallel()

	var golden []byte
	for _, name := range []string{"next.golden", "undecided.golden", "event_next.golden"} {
		golden = append(golden, roomtest.Must(os.ReadFile(filepath.Join("testdata", name)))(t)...)
	}
	m := moment{delivery: report.DeliveryDetail{DeliveryRow: report.DeliveryRow{ReadAt: &nextNow, ReplacedBy: "evt-9"},
		Receipts: make([]report.ReceiptRow, 1)}}
	m.workflow.Pending = make([]PendingActivity, 1)
	words := m.words()
	for _, s := range slices.Concat(whyUndecided, nextUnplanned, nextOfEnd,
		nextOfDelivery, nextOfCancelled, nextOfRunning, nextAttempt, nextInBatch, nextOfFailed) {
		if s.then != nil {
			continue
		}
		form := regexp.QuoteMeta(os.Expand(s.says, func(word string) string {
			require.Contains(t, words, word, s.says)
			return "…"
		}))
		require.Regexp(t, ": "+strings.ReplaceAll(form, "…", ".*")+`(\n|$)`, string(golden))
	}
}

// Of a recipient without a decision, the sentences tell why there is none, and what happens next.
func TestUndecided(t *testing.T) {
	t.Parallel()

	named := RulesNow{RoutedChannels: []notification.Channel{notification.SMS}, RecipientKnown: true, RecipientActive: true}
	inactive, unknown, unnamed, escalated := named, named, named, named
	inactive.RecipientActive = false
	unknown.RecipientKnown, unknown.RecipientActive = false, false
	unnamed.Unreached = []string{"a", "b"}
	escalated.Routing = &RoutingNow{OnEscalationOnly: true}
	processed := func(status notification.ProcessedStatus, outcome notification.EventOutcome) *report.ProcessedRow {
		return &report.ProcessedRow{Status: status, Outcome: outcome}
	}
	var out strings.Builder
	for _, tt := range []struct {
		name string
		view Why
	}{
		{name: "only escalated", view: Why{DecidedAt: &nextNow, Rules: escalated}},
		{name: "routed later", view: Why{DecidedAt: &nextNow, Rules: named}},
		{name: "pending", view: Why{Outbox: outbox("PENDING", "")}},
		{name: "cancelled while pending", view: Why{Outbox: cancelledRow("PENDING")}},
		{name: "cancelled", view: Why{Outbox: cancelledRow("PROCESSED"), Processed: processed("FAILED", "")}},
		{name: "cancelled after its end", view: Why{Outbox: cancelledRow("PROCESSED"), Rules: named,
			Processed: processed("SUCCESS", notification.NoRouting)}},
		{name: "cannot be started", view: Why{Outbox: outbox("FAILED", "claimed 10 times")}},
		{name: "no routes", view: Why{Processed: processed("SUCCESS", "")}},
		{name: "unknown", view: Why{Rules: unknown}},
		{name: "inactive", view: Why{Rules: inactive}},
		{name: "not named", view: Why{Rules: unnamed}},
		{name: "being planned", view: Why{Rules: named, Processed: processed("PROCESSING", ""), EventWorkflow: &WorkflowView{Status: Running}}},
		{name: "not planned", view: Why{Rules: named, Processed: processed("FAILED", "")}},
		{name: "joined later", view: Why{Rules: named, Processed: processed("SUCCESS", "")}},
		{name: "purged, without routes then", view: Why{Rules: named, Processed: processed("SUCCESS", notification.NoRouting)}},
		{name: "without routes then", view: Why{Outbox: outbox("PROCESSED", ""), Rules: named,
			Processed: processed("SUCCESS", notification.NoRouting)}},
	} {
		tt.view.EventID, tt.view.Channel = "evt 1", notification.SMS
		fmt.Fprintf(&out, "%s: %s\n    next: %s\n", tt.name, newMoment(tt.view, nextNow).tell(whyUndecided), newMoment(tt.view, nextNow).next())
	}
	roomtest.Golden(t, "undecided", out.String())
}
