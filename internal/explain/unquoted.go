package explain

import (
	"strings"
	"time"

	"herald/internal/notification"
	"herald/internal/report"
)

// Unquoted returns the explanation with sentences that quote nobody: no error, no word of a provider,
// no value of a payload. Its other fields stay as they are.
func (w Why) Unquoted(now time.Time) Why {
	bare := w
	if w.Outbox != nil {
		outbox := *w.Outbox
		outbox.ErrorMessage = "`starter event show` has the error"
		bare.Outbox = &outbox
	}
	if len(w.Rules.Unreached) > 0 {
		bare.Rules.Unreached = []string{"`starter delivery why` has the reason"}
	}
	bare.Rules.Timezone = ""
	if w.Delivery != nil {
		delivery := *w.Delivery
		delivery.Receipts = nil
		for _, receipt := range w.Delivery.Receipts {
			if receipt.Outcome != "" {
				delivery.Receipts = append(delivery.Receipts, report.ReceiptRow{At: receipt.At, Status: string(receipt.Outcome)})
			}
		}
		bare.Delivery = &delivery
	}
	if w.Escalation != nil && w.Escalation.Reason != "" {
		escalation := *w.Escalation
		escalation.Reason = "`starter delivery why` has the reason"
		bare.Escalation = &escalation
	}
	bare.Ahead = ""
	m := newMoment(bare, now)
	w.Next = strings.TrimSpace(m.next())
	if w.Undecided() {
		w.Meaning = m.meaning(notification.UserType(""), "")
	}
	return w
}
