package example

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// LedgerLine is as much of a line of the sandbox's ledger as it takes to tell
// who was reached.
type LedgerLine struct {
	Time       time.Time `json:"time"`
	DeliveryID string    `json:"delivery_id"`
	Accepted   bool      `json:"accepted"` // the message counts as sent
}

// maxLedgerLine is in bytes; a line holds a whole request.
const maxLedgerLine = 16 << 20

// ReadLedger reads the ledger's lines.
func ReadLedger(r io.Reader) ([]LedgerLine, error) {
	var lines []LedgerLine
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLedgerLine)
	for scanner.Scan() {
		var line LedgerLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("line %d of the ledger is not JSON", len(lines)+1) // the cause may quote it
		}
		lines = append(lines, line)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	return lines, nil
}

// LedgerDeviations returns where the ledger and the database disagree, a line
// each: whoever is SENT over a provider was reached there once, and nobody else
// was. Deliveries in a digest share its one message. Lines of other events are
// passed over.
func LedgerDeviations(reports []report.EventDetail, lines []LedgerLine) []string {
	accepted := map[string]int{}
	for _, line := range lines {
		if line.Accepted {
			accepted[line.DeliveryID]++
		}
	}
	var deviations []string
	digests := map[string]bool{} // whether something was sent in it
	eachDelivery(reports, func(channel notification.Channel, d report.RecipientDelivery) {
		expected := 0
		sent := channel != notification.WebSocket && (d.Status == notification.Sent || d.Status == notification.Delivered)
		switch {
		case d.DigestID != "":
			digests[d.DigestID] = digests[d.DigestID] || sent
		case sent:
			expected = 1
		}
		if accepted[d.DeliveryID] != expected {
			deviations = append(deviations, fmt.Sprintf("%s is %s, and the ledger has %d accepted messages of it", d.DeliveryID, d.Status, accepted[d.DeliveryID]))
		}
	})
	for id, sent := range digests {
		switch {
		case sent && accepted[id] != 1:
			deviations = append(deviations, fmt.Sprintf("%s is SENT, and the ledger has %d accepted messages of it", id, accepted[id]))
		case !sent && accepted[id] != 0:
			deviations = append(deviations, fmt.Sprintf("%s is not SENT, and the ledger has %d accepted messages of it", id, accepted[id]))
		}
	}
	slices.Sort(deviations)
	return deviations
}

// Latencies returns how long the deliveries that were not to wait took from the
// event's row to the ledger, shortest first.
func Latencies(reports []report.EventDetail, lines []LedgerLine) []time.Duration {
	reached := map[string]time.Time{}
	for _, line := range lines {
		if before, known := reached[line.DeliveryID]; line.Accepted && (!known || line.Time.Before(before)) {
			reached[line.DeliveryID] = line.Time
		}
	}
	var latencies []time.Duration
	for _, detail := range reports {
		if detail.Outbox == nil {
			continue
		}
		eachDelivery([]report.EventDetail{detail}, func(_ notification.Channel, d report.RecipientDelivery) {
			if at, known := reached[d.DeliveryID]; known && d.SendAfter == nil {
				latencies = append(latencies, at.Sub(detail.Outbox.CreatedAt))
			}
		})
	}
	slices.Sort(latencies)
	return latencies
}

// Digests counts, by digest, the deliveries that were sent in it.
func Digests(reports []report.EventDetail) map[string]int {
	sizes := map[string]int{}
	eachDelivery(reports, func(_ notification.Channel, d report.RecipientDelivery) {
		if d.DigestID != "" && d.Status == notification.Sent {
			sizes[d.DigestID]++
		}
	})
	return sizes
}

// Percentile returns the p-th percentile, by nearest rank, of what is sorted
// and not empty.
func Percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[max(0, (len(sorted)*p+99)/100-1)]
}

func eachDelivery(reports []report.EventDetail, do func(notification.Channel, report.RecipientDelivery)) {
	for _, detail := range reports {
		for _, recipient := range detail.Recipients {
			for channel, delivery := range recipient.Deliveries {
				do(channel, delivery)
			}
		}
	}
}
