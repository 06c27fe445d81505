package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"herald/internal/console"
	"herald/internal/example"
	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// demoResult is what `starter demo` prints in the end.
type demoResult struct {
	Run        string                      `json:"run"`
	Fates      []demoFate                  `json:"fates"`
	Outcomes   map[string]string           `json:"outcomes"` // by event id
	Digests    map[string]int              `json:"digests"`  // how many of the deliveries each lists
	Statuses   map[notification.Status]int `json:"deliveries"`
	P50Seconds float64                     `json:"p50_seconds"` // from the event's row to the provider
	P99Seconds float64                     `json:"p99_seconds"`
	PerSecond  float64                     `json:"deliveries_per_second"`
	Deviations []string                    `json:"deviations"`
}

// demoFate is one recipient and channel of one event; of an event that reached
// nobody it has only the reason.
type demoFate struct {
	Event     string                `json:"event"`
	Recipient string                `json:"recipient,omitempty"`
	Channel   notification.Channel  `json:"channel,omitempty"`
	Decision  notification.Decision `json:"decision,omitempty"`
	Status    notification.Status   `json:"status,omitempty"`
	Why       string                `json:"why,omitempty"`
	Digest    string                `json:"digest,omitempty"` // that it was sent in
}

// judge compares what came of the events with what had to.
func (d *demo) judge(ctx context.Context, reports []report.EventDetail, began time.Time) (demoResult, error) {
	observations, err := d.observe(ctx, reports)
	if err != nil {
		return demoResult{}, err
	}
	lines, err := d.ledger.since(ctx, began)
	if err != nil {
		return demoResult{}, err
	}
	result := demoResult{
		Run: d.run, Fates: []demoFate{}, Outcomes: map[string]string{}, Digests: example.Digests(reports),
		Statuses: map[notification.Status]int{}, Deviations: []string{},
	}
	for i, event := range d.events {
		result.add(event, observations[i])
	}
	result.Deviations = append(result.Deviations, example.LedgerDeviations(reports, lines)...)
	result.measure(reports, lines)
	return result, nil
}

func (r *demoResult) add(event example.Event, seen example.Observation) {
	r.Outcomes[seen.Report.EventID] = seen.Outcome
	r.Deviations = append(r.Deviations, event.Deviations(seen, time.Now())...)
	if len(seen.Report.Recipients) == 0 {
		r.Fates = append(r.Fates, demoFate{Event: event.Name, Why: seen.Outcome})
	}
	for _, recipient := range seen.Report.Recipients {
		for _, channel := range notification.Channels() {
			decision, decided := recipient.Decisions[channel]
			if !decided {
				continue
			}
			fate := demoFate{Event: event.Name, Recipient: example.Name(recipient), Channel: channel, Decision: decision}
			if delivery, planned := recipient.Deliveries[channel]; planned {
				fate.Status = delivery.Status
				fate.Why = example.Why(delivery)
				if delivery.Status == notification.Sent {
					fate.Digest = delivery.DigestID
				}
				r.Statuses[delivery.Status]++
			}
			r.Fates = append(r.Fates, fate)
		}
	}
}

// measure looks at the deliveries that were not to wait.
func (r *demoResult) measure(reports []report.EventDetail, lines []example.LedgerLine) {
	if latencies := example.Latencies(reports, lines); len(latencies) > 0 {
		r.P50Seconds = example.Percentile(latencies, 50).Seconds()
		r.P99Seconds = example.Percentile(latencies, 99).Seconds()
	}
	var first, last time.Time
	sent := 0
	for _, detail := range reports {
		if detail.Outbox != nil && (first.IsZero() || detail.Outbox.CreatedAt.Before(first)) {
			first = detail.Outbox.CreatedAt
		}
		for _, recipient := range detail.Recipients {
			for _, delivery := range recipient.Deliveries {
				if delivery.SentAt == nil || delivery.SendAfter != nil || delivery.DigestID != "" {
					continue
				}
				sent++
				if delivery.SentAt.After(last) {
					last = *delivery.SentAt
				}
			}
		}
	}
	if took := last.Sub(first).Seconds(); sent > 0 && took > 0 {
		r.PerSecond = float64(sent) / took
	}
}

// print writes the table of what reached whom.
func (r demoResult) print(w io.Writer) {
	console.Row(w)
	console.Row(w, "EVENT", "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "WHY")
	for _, f := range r.Fates {
		console.Row(w, f.Event, console.Dash(f.Recipient), console.Dash(f.Channel), console.Dash(f.Decision), console.Dash(f.Status), console.Dash(cmp.Or(f.Why, r.place(f))))
	}
	console.Row(w)
	var counts []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.Statuses[status], status))
	}
	console.Row(w, fmt.Sprintf("%d events; deliveries: %s", len(r.Outcomes), strings.Join(counts, ", ")))
	console.Row(w, fmt.Sprintf("from the event's row to the provider: p50 %.0f ms, p99 %.0f ms; %.1f deliveries a second",
		r.P50Seconds*1000, r.P99Seconds*1000, r.PerSecond))
	for _, deviation := range r.Deviations {
		console.Row(w, "DEVIATION: "+deviation)
	}
	if len(r.Deviations) == 0 {
		console.Row(w, "every delivery ended as the rules say, and the ledger agrees")
	}
}

// place says in which digest a delivery was sent, and how many of the example's
// that lists.
func (r demoResult) place(f demoFate) string {
	if f.Digest == "" {
		return ""
	}
	return fmt.Sprintf("in %s (%d)", f.Digest, r.Digests[f.Digest])
}
