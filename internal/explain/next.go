package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/report"
)

// next returns what happens next, and what an operator can do about it.
func (w Why) next(now time.Time) string {
	switch {
	case w.Delivery != nil:
		return w.nextOfDelivery(now)
	case w.Undecided():
		return w.nextOfEvent()
	case w.Decision == notification.DecisionSelected:
		return "nothing: its delivery was purged"
	default:
		return "nothing: decisions stay. For future events: " + w.Decision.Remedy(w.Channel)
	}
}

// nextOfEvent is next for a recipient without a decision.
func (w Why) nextOfEvent() string {
	switch {
	case w.cancelledBy() != "" && !w.succeeded():
		return "nothing: to send it after all, write a new event"
	case w.Outbox != nil && w.Outbox.Status == notification.OutboxPending:
		return "a poller starts it; `starter poller status` shows if one runs"
	case w.Outbox != nil && w.Outbox.Status == notification.OutboxFailed:
		return fmt.Sprintf("nothing, until an operator corrects it and runs `starter event retry %s`", advice.Quote(w.EventID))
	case w.EventWorkflow != nil && w.EventWorkflow.Status == Running:
		return fmt.Sprintf("its workflow is running; `starter event show %s` shows its progress", advice.Quote(w.EventID))
	case w.Processed != nil && w.Processed.Status == notification.ProcessedFailed:
		return fmt.Sprintf("nothing, until an operator runs `starter event retry %s`", advice.Quote(w.EventID))
	case w.Processed != nil && w.Outbox != nil && w.Processed.Outcome.Mendable() && w.cancelledBy() == "":
		return nextOfOutcome(w.EventID, w.Processed.Outcome)
	default:
		return "nothing: an event is planned once. Corrected rows count for future events"
	}
}

func (w Why) nextOfDelivery(now time.Time) string {
	d := *w.Delivery
	again := ""
	if w.cancelledBy() != "" || d.ReplacedBy != "" || d.LastError == string(notification.DecisionExpired) {
		again = " --again"
	}
	retry := fmt.Sprintf("`starter delivery retry %s%s`", advice.Quote(d.DeliveryID), again)
	if w.OwnTime != nil {
		retry += fmt.Sprintf(", which waits until its due time, %s; %s", notification.InstantText(*w.OwnTime), w.hasten())
	}
	switch {
	case d.Status == notification.Sent:
		return "nothing: it was sent at " + clock(d.SentAt) + wasRead(d) + wasReplaced(d) + lastReceipt(d.Receipts)
	case d.Status == notification.Delivered:
		return "nothing: it arrived at " + clock(d.DeliveredAt) + wasRead(d) + wasReplaced(d)
	case w.ErasedAt != nil && (d.Status == notification.Cancelled || d.Status == notification.Failed):
		return fmt.Sprintf("nothing: its recipient was erased at %s, and gets no more messages", clock(w.ErasedAt))
	case d.Status == notification.Cancelled && w.cancelledBy() != "":
		return fmt.Sprintf("nothing: its event was %s. To send it after all, run %s", notification.CancelledBy(w.cancelledBy()), retry)
	case d.Status == notification.Cancelled && d.ReplacedBy != "":
		return fmt.Sprintf("nothing: event %s took its place while it waited. To send it after all, run %s", d.ReplacedBy, retry)
	case d.Status == notification.Cancelled && notification.DroppedMeaning(d.LastError, d.Channel, d.UserType) != "":
		return fmt.Sprintf("nothing: it waited, and when it was due %s. %s", notification.DroppedMeaning(d.LastError, d.Channel, d.UserType), retryDropped(d, retry))
	case d.Status == notification.Cancelled:
		return fmt.Sprintf("nothing: it was cancelled. To send it after all, run %s", retry)
	case w.Workflow.Status == Running:
		return w.nextOfRunning(now)
	case w.Workflow.Batch != nil:
		return w.nextInBatch(now)
	case d.Status == notification.Failed && d.ReceiptFailed:
		return fmt.Sprintf("nothing: its provider accepted it, and said later that it did not arrive. %s, then run %s", w.mendAddress(), retry)
	case d.Status == notification.Failed:
		return fmt.Sprintf("nothing: it failed. %s, then run %s", mend(d), retry)
	case w.Workflow.Status == Unreachable:
		return "unknown, because Temporal is out of reach. By its row it " + w.rowSays(now)
	case w.Workflow.Status == Unknown && w.Workflow.TaskQueue != "" && w.Workflow.Workers == 0:
		return fmt.Sprintf("nothing, until a worker serves events: %s. Start one", w.Workflow.ServedBy.Absent(w.Workflow.TaskQueue, now))
	case w.Workflow.Status == Unknown && w.Processed != nil && w.Processed.Status == notification.Processing:
		return fmt.Sprintf("its event's workflow starts it; `starter event show %s` shows its progress", advice.Quote(d.EventID))
	case w.Workflow.Status == Unknown:
		return fmt.Sprintf("nothing: no workflow has it. Run %s", retry)
	default:
		return fmt.Sprintf("nothing: its workflow is %s. Run %s", w.Workflow.Status, retry)
	}
}

// retryDropped tells how to send a delivery that was dropped after a wait.
func retryDropped(d report.DeliveryDetail, retry string) string {
	if first := notification.DroppedRemedy(d.LastError, d.Channel); first != "" {
		return fmt.Sprintf("To send it, first %s; then run %s", first, retry)
	}
	return "To send it after all, run " + retry
}

// wasRead tells when the recipient read a notification of the event; empty: not read yet.
func wasRead(d report.DeliveryDetail) string {
	if d.ReadAt == nil {
		return ""
	}
	return ", and was read at " + clock(d.ReadAt)
}

// wasReplaced names the event that took a sent delivery's place; empty: none did.
func wasReplaced(d report.DeliveryDetail) string {
	if d.ReplacedBy == "" {
		return ""
	}
	return "; event " + d.ReplacedBy + " took its place in the inbox and on the phone"
}

// lastReceipt describes the provider's last receipt for a message that may or may not have arrived;
// empty: there is no receipt.
func lastReceipt(receipts []report.ReceiptRow) string {
	if len(receipts) == 0 {
		return ""
	}
	last := receipts[len(receipts)-1]
	return fmt.Sprintf("; the last receipt, of %s, says %s", clock(&last.At), last.Status)
}

// mendAddress names the correction that an operator makes before a message that did not arrive is
// sent again.
func (w Why) mendAddress() string {
	suppressed := slices.ContainsFunc(w.Rules.Findings, func(f notification.Finding) bool {
		return f.Applies && f.Decision == notification.DecisionSuppressed
	})
	if suppressed {
		return "The address is suppressed: first " + notification.DecisionSuppressed.Remedy(w.Channel)
	}
	return "The last error has its reason. If the address does not work, first enter another one (recipient)"
}

// mend names the correction that an operator makes before a failed delivery is retried.
func mend(d report.DeliveryDetail) string {
	if !d.HasText {
		return "Correct the template, the payload or the time zone that the last error names"
	}
	var last report.AttemptRow
	if len(d.Log) > 0 {
		last = d.Log[len(d.Log)-1]
	}
	switch last.Outcome {
	case notification.OutcomeOff:
		return fmt.Sprintf("Correct the settings that the last error names, for the workers that serve %s, and restart them", d.Channel)
	case notification.OutcomeRefused:
		if last.ProviderStatus == 0 {
			return "Correct what the last error names: the recipient's address, the text, or a setting of the workers"
		}
		return "Correct what the provider refused: the recipient's address, or the text"
	case notification.OutcomeAccount:
		return fmt.Sprintf("Correct the workers' credentials for %s", d.Channel)
	case notification.OutcomeBusy, notification.OutcomeUnreachable, notification.OutcomeUnavailable, notification.OutcomeAmbiguous:
		return "Wait until the provider answers again"
	default:
		return "Correct what the last error names"
	}
}

// nextOfRunning is next for a delivery whose workflow runs.
func (w Why) nextOfRunning(now time.Time) string {
	s, at := *w.Workflow, *w.Workflow // at is the workflow that makes the attempts
	if s.Digest != nil {
		at = *s.Digest
	}
	if at.Status == Running && at.Workers == 0 {
		return fmt.Sprintf("nothing, until a worker serves %s: %s. Start one", w.Delivery.Channel, at.ServedBy.Absent(at.TaskQueue, now))
	}
	switch p := cmp.Or(at.PendingSend(), at.nextSend(len(w.Delivery.Log) > 0)); {
	case s.Digest != nil && at.Status != Running:
		return fmt.Sprintf("it joins another digest by itself: %s is %s", s.DigestID, at.Status)
	case p != nil:
		return w.nextAttempt(*p, at)
	case s.Digest != nil:
		return fmt.Sprintf("it is sent in its digest %s, which says: %s. %s", s.DigestID, at.Details, w.hasten())
	case len(s.Pending) > 0:
		return fmt.Sprintf("its workflow is at %s, attempt %d; `starter delivery show %s` has its last failure", s.Pending[0].Activity, s.Pending[0].Attempt, advice.Quote(w.Delivery.DeliveryID))
	case at.WaitsUntil != nil && at.Details != "":
		return fmt.Sprintf("it is %s%s. %s", at.Details, w.Ahead, w.hasten())
	case w.Delivery.SendAfter != nil && now.Before(*w.Delivery.SendAfter):
		return fmt.Sprintf("it %s. %s", w.rowSays(now), w.hasten())
	default:
		return "its workflow continues: look again in a moment"
	}
}

// nextInBatch is next for a delivery that a batch sends.
func (w Why) nextInBatch(now time.Time) string {
	d, batch := *w.Delivery, *w.Workflow.Batch
	id := w.Workflow.BatchID
	switch {
	case batch.Workers == 0 && !batch.UnderWay(): // a worker without free slots does not poll
		return fmt.Sprintf("nothing, until a worker serves %s: %s. Start one", d.Channel, batch.ServedBy.Absent(batch.TaskQueue, now))
	case len(d.Log) == 0:
		return fmt.Sprintf("the running batch %s sends it; until then, `starter delivery cancel %s` can stop it", id, advice.Quote(d.DeliveryID))
	case d.Log[len(d.Log)-1].EndedAt == nil:
		return fmt.Sprintf("its attempt in the batch %s is under way; if a crash ended it, a separate workflow makes the next", id)
	default:
		return fmt.Sprintf("a separate workflow makes the next attempt, after the batch %s has made all first attempts", id)
	}
}

func (w Why) hasten() string {
	return fmt.Sprintf("`starter delivery send-now %s` sends it now", advice.Quote(w.Delivery.DeliveryID))
}

func (w Why) nextAttempt(p PendingActivity, at Sending) string {
	number, rejected, outage := 1, false, false
	var since time.Time // the start of the outage
	for _, attempt := range w.Delivery.Log {
		if attempt.Attempt <= w.Workflow.Before || attempt.EndedAt == nil || attempt.Outcome == notification.OutcomeLost {
			continue
		}
		rejected, outage = attempt.Outcome == notification.OutcomeAccount, attempt.Outcome.IsOutage()
		if outage && since.IsZero() {
			since = attempt.StartedAt
		}
		if outage = outage && attempt.StartedAt.Sub(since) < at.Outage; outage {
			continue
		}
		if !rejected && attempt.Outcome != notification.OutcomeError && attempt.Outcome != notification.OutcomeOff { // these outcomes use up no attempt
			number++
		}
	}
	which := fmt.Sprintf("attempt %d", number)
	if at.MaxAttempts > 0 {
		which += fmt.Sprintf(" of %d", at.MaxAttempts)
	}
	switch {
	case p.State == Started:
		return fmt.Sprintf("%s is under way, since %s", which, clock(p.StartedAt))
	case p.State == Paused:
		return which + " is paused: resume the activity in the Temporal Web UI"
	case p.NextAttempt != nil && rejected:
		return fmt.Sprintf("the provider rejects our account: it is tried once a minute, next at %s, and fails a day after the first time. Correct the workers' credentials for %s", clock(p.NextAttempt), w.Delivery.Channel)
	case p.NextAttempt != nil && outage:
		return fmt.Sprintf("the provider is busy or out of reach: attempts count again from %s on, and the next is due at %s. %s", notification.InstantText(since.Add(at.Outage)), clock(p.NextAttempt), w.hasten())
	case p.NextAttempt != nil:
		return fmt.Sprintf("the next attempt is due at %s, %s. %s", clock(p.NextAttempt), which, w.hasten())
	default:
		return which + " is due: a worker takes it in a moment"
	}
}

// rowSays describes the delivery's wait by its row.
func (w Why) rowSays(now time.Time) string {
	after := w.Delivery.SendAfter
	switch {
	case w.Delivery.Strategy == notification.Aggregate:
		text := "waits for its digest"
		if after != nil && now.Before(*after) {
			text += ", until " + notification.WallText(*after, now, w.Rules.Timezone)
		}
		return text
	case after != nil && now.Before(*after):
		why := notification.WaitQuietHours
		if w.Delivery.Strategy == notification.Delayed {
			why = notification.WaitDelay
		}
		return "waits until " + notification.WaitText(*after, now, w.Rules.Timezone, why) + w.Ahead
	default:
		return "is to be sent at once"
	}
}

func clock(t *time.Time) string { return notification.InstantText(*t) }
