package demo

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/report"
	"herald/internal/suppression"
	"herald/tools/rig"
	"herald/tools/sandbox"
)

// ledgerDeviations returns one line for each difference between the ledger and the database. The
// provider must accept one message for each sent delivery, one for each digest with a sent
// delivery, and none for other deliveries. It ignores entries of other events.
func ledgerDeviations(details []report.EventDetail, entries []sandbox.Entry) []string {
	expected := map[string]int{} // messages by the id of a delivery or a digest
	for _, detail := range details {
		for d, channel := range deliveries(detail) {
			sent := 0
			if channel != notification.WebSocket && wasSent(d) {
				sent = 1
			}
			if d.DigestID != "" {
				expected[d.DigestID] = max(expected[d.DigestID], sent)
				sent = 0
			}
			expected[d.DeliveryID] = sent
		}
	}
	accepted := rig.ByDelivery(entries)
	var deviations []string
	for id, want := range expected {
		if got := len(accepted[id]); got != want {
			deviations = append(deviations, fmt.Sprintf("%s: by the database the provider accepted %d messages, by the ledger %d", id, want, got))
		}
	}
	slices.Sort(deviations)
	return deviations
}

// wasSent reports whether the provider accepted the message, even if the delivery failed later.
func wasSent(d report.RecipientDelivery) bool {
	return d.Status == notification.Sent || d.Status == notification.Delivered || d.Status == notification.Failed && d.SentAt != nil
}

// deliveries iterates over an event's deliveries and their channels.
func deliveries(detail report.EventDetail) iter.Seq2[report.RecipientDelivery, notification.Channel] {
	return func(yield func(report.RecipientDelivery, notification.Channel) bool) {
		for _, recipient := range detail.Recipients {
			for channel, delivery := range recipient.Deliveries {
				if !yield(delivery, channel) {
					return
				}
			}
		}
	}
}

// liftSuppressions removes the suppressions of the example's people, so that a run does not
// change the next run: the provider rejects the same addresses in each run.
func (d *Demo) liftSuppressions(ctx context.Context) error {
	lifted := map[string]bool{}
	for _, event := range d.expected() {
		for who := range event.Expect.Recipients {
			if lifted[who] {
				continue
			}
			lifted[who] = true
			if err := d.liftSuppressionsOf(ctx, who); err != nil {
				return fmt.Errorf("lift the suppressions of %s: %w", who, err)
			}
		}
	}
	return nil
}

func (d *Demo) liftSuppressionsOf(ctx context.Context, who string) error {
	store := d.Explainer.DB
	userType, userID, _ := strings.Cut(who, "/")
	entry, err := planner.On(store).DirectoryEntry(ctx, notification.UserType(userType), userID, nil)
	if err != nil {
		return err
	}
	for _, s := range entry.Recipient.Suppressions {
		if _, err := suppression.On(store).Unsuppress(ctx, s.Channel, entry.Recipient.Address(s.Channel), s.Reason); err != nil {
			return err
		}
	}
	return nil
}
