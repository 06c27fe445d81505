package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"slices"

	"herald/internal/notification"
	"herald/internal/postgres/report"
	"herald/internal/sandbox"
)

func readLedger(r io.Reader) ([]sandbox.Entry, error) {
	var entries []sandbox.Entry
	decoder := json.NewDecoder(r)
	for decoder.More() {
		var entry sandbox.Entry
		if decoder.Decode(&entry) != nil {
			return nil, fmt.Errorf("entry %d of the ledger cannot be read", len(entries)+1) // the cause may quote it
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

// ledgerDeviations returns where the ledger and the database disagree, a line each:
// the provider accepted one message of each delivery that was sent, one of each digest
// with such a delivery, and none of the others. It ignores entries of other events.
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
	accepted := map[string]int{}
	for _, entry := range entries {
		if entry.Accepted {
			accepted[entry.DeliveryID]++
		}
	}
	var deviations []string
	for id, want := range expected {
		if got := accepted[id]; got != want {
			deviations = append(deviations, fmt.Sprintf("%s: by the database the provider accepted %d messages, by the ledger %d", id, want, got))
		}
	}
	slices.Sort(deviations)
	return deviations
}

// wasSent says that the provider accepted a message, also of a delivery that has failed since.
func wasSent(d report.RecipientDelivery) bool {
	return d.Status == notification.Sent || d.Status == notification.Delivered || d.Status == notification.Failed && d.SentAt != nil
}

// deliveries are those of an event, with their channels.
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
