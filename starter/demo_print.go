package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"herald/internal/console"
	"herald/internal/demo"
)

// printDemo writes the table of who has what.
func printDemo(w io.Writer, r *demo.Result) {
	console.Row(w)
	console.Row(w, "EVENT", "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "HAS IT", "WHY")
	for _, f := range r.Results {
		why := f.Why
		if why == "" && f.Digest != "" {
			why = fmt.Sprintf("in %s (%d)", f.Digest, r.Digests[f.Digest])
		}
		console.Row(w, f.Event, console.Dash(f.Recipient), console.Dash(f.Channel), console.Dash(f.Decision), console.Dash(f.Status), console.Dash(f.Has), console.Dash(why))
	}
	printTopics(w, r.Topics)
	console.Row(w)
	var counts []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.Statuses[status], status))
	}
	console.Row(w, fmt.Sprintf("%d events; deliveries: %s", len(r.Outcomes), strings.Join(counts, ", ")))
	for _, deviation := range r.Deviations {
		console.Row(w, "DEVIATION: "+deviation)
	}
	switch {
	case len(r.Deviations) > 0:
	case len(r.Topics) > 0:
		console.Row(w, "every delivery ended as the rules say, the ledger agrees, and the topics hold what the tables do")
	default:
		console.Row(w, "every delivery ended as the rules say, and the ledger agrees")
	}
}

// printTopics writes the table of what the services' outboxes hold, and their topics.
func printTopics(w io.Writer, topics []demo.TopicResult) {
	if len(topics) == 0 {
		return
	}
	console.Row(w)
	console.Row(w, "two services have outboxes of their own; what these hold, and what kcat read in their topics:")
	console.Row(w, "OUTBOX", "EVENT", "TYPE", "MARK", "TOPIC", "KCAT READ")
	for _, t := range topics {
		console.Row(w, t.Outbox, t.EventID, t.EventType, t.Mark, t.Topic, t.Read)
	}
}
