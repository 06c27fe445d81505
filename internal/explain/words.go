package explain

import (
	"fmt"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
)

// words has the values of the words in sentences. A value that does not exist is empty.
func (m moment) words() map[string]string {
	words := map[string]string{
		"channel": string(m.why.Channel), "unreached": strings.Join(m.why.Rules.Unreached, "; "), "future": m.why.Decision.Remedy(m.why.Channel),
		"event": command("event show", m.why.EventID), "replan": command("event retry", m.why.EventID),
		"missing":   missing(m.why.Rules.RecipientKnown),
		"cancelled": notification.CancelledBy(m.outbox.CancelledBy), "error": m.outbox.ErrorMessage,

		"retry": m.retry(), "hasten": m.hasten(),
		"cancel": command("delivery cancel", m.delivery.DeliveryID), "show": command("delivery show", m.delivery.DeliveryID),
		"sent": clock(m.delivery.SentAt), "delivered": clock(m.delivery.DeliveredAt), "erased": clock(m.why.ErasedAt),
		"replacement": m.delivery.ReplacedBy, "dropped": m.dropped(), "remedy": m.remedy(), "wait": m.wait(),
		"unsuppress": notification.DecisionSuppressed.Remedy(m.why.Channel),

		"status": m.sender.Status, "details": m.sender.Details, "ahead": m.why.Ahead, "digest": m.workflow.DigestID, "batch": m.workflow.BatchID,
		"absent": m.sender.ServedBy.Absent(m.sender.TaskQueue, m.now), "attempt": m.attempt(),
		"started": clock(m.send.StartedAt), "due": clock(m.send.NextAttempt), "failure": m.send.LastFailure,
		"counting": notification.InstantText(m.outage.Add(m.sender.Outage)),
	}
	if m.delivery.ReadAt != nil {
		words["read"] = ", and was read at " + clock(m.delivery.ReadAt)
	}
	if m.delivery.ReplacedBy != "" {
		words["replaced"] = "; event " + m.delivery.ReplacedBy + " took its place in the inbox and on the phone"
	}
	if n := len(m.delivery.Receipts); n > 0 {
		words["receipt"] = fmt.Sprintf("; the last receipt, of %s, says %s", clock(&m.delivery.Receipts[n-1].At), m.delivery.Receipts[n-1].Status)
	}
	if len(m.workflow.Pending) > 0 {
		words["activity"] = fmt.Sprintf("%s, attempt %d", m.workflow.Pending[0].Activity, m.workflow.Pending[0].Attempt)
	}
	return words
}

// command quotes a command of starter about an id.
func command(name, id string) string { return fmt.Sprintf("`starter %s %s`", name, advice.Quote(id)) }

// retry is the command that sends an ended delivery after all.
func (m moment) retry() string {
	again := ""
	if m.outbox.CancelledBy != "" || m.delivery.ReplacedBy != "" || m.delivery.LastError == string(notification.DecisionExpired) {
		again = " --again"
	}
	text := fmt.Sprintf("`starter delivery retry %s%s`", advice.Quote(m.delivery.DeliveryID), again)
	if m.why.OwnTime != nil {
		text += fmt.Sprintf(", which waits until its due time, %s; %s", clock(m.why.OwnTime), m.hasten())
	}
	return text
}

func (m moment) hasten() string {
	return command("delivery send-now", m.delivery.DeliveryID) + " sends it now"
}

// attempt names the next attempt: "attempt 2 of 3".
func (m moment) attempt() string {
	text := fmt.Sprintf("attempt %d", m.number)
	if m.sender.MaxAttempts > 0 {
		text += fmt.Sprintf(" of %d", m.sender.MaxAttempts)
	}
	return text
}

// wait describes the delivery's wait by its row.
func (m moment) wait() string {
	until := ""
	if m.waits() {
		until = notification.WallText(*m.delivery.SendAfter, m.now, m.why.Rules.Timezone)
	}
	switch {
	case m.delivery.Strategy == notification.Aggregate && until == "":
		return "waits for its digest"
	case m.delivery.Strategy == notification.Aggregate:
		return "waits for its digest, until " + until
	case until == "":
		return "is to be sent at once"
	case m.delivery.Strategy == notification.Delayed:
		return "waits until " + until + ": " + notification.WaitDelay + m.why.Ahead
	default:
		return "waits until " + until + ": " + notification.WaitQuietHours + m.why.Ahead
	}
}

// clock returns a time in UTC; empty: there is none.
func clock(at *time.Time) string {
	if at == nil {
		return ""
	}
	return notification.InstantText(*at)
}
