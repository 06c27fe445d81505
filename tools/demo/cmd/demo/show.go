package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"herald/internal/terminal"
	"herald/tools/demo"
)

// show writes the table of who has what.
func show(w io.Writer, r *demo.Result) {
	terminal.Row(w)
	terminal.Row(w, "EVENT", "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "HAS IT", "WHY")
	for _, f := range r.Results {
		why := f.Why
		if why == "" && f.Digest != "" {
			why = fmt.Sprintf("in %s (%d)", f.Digest, r.Digests[f.Digest])
		}
		terminal.Row(w, f.Event, terminal.Dash(f.Recipient), terminal.Dash(f.Channel), terminal.Dash(f.Decision), terminal.Dash(f.Status), terminal.Dash(f.Has), terminal.Dash(why))
	}
	printRows(w, r.Rows)
	terminal.Row(w)
	var counts []string
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.Statuses[status], status))
	}
	terminal.Row(w, fmt.Sprintf("%d events; deliveries: %s", len(r.Outcomes), strings.Join(counts, ", ")))
	for _, deviation := range r.Deviations {
		terminal.Row(w, "DEVIATION: "+deviation)
	}
	if len(r.Deviations) == 0 {
		terminal.Row(w, "every delivery ended as the rules say, and the ledger agrees")
	}
}

// printRows writes the table of the services' outboxes.
func printRows(w io.Writer, rows []demo.ServiceRow) {
	if len(rows) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, "two services have separate outboxes; their rows are in Kafka:")
	terminal.Row(w, "OUTBOX", "EVENT", "TYPE", "MARK")
	for _, row := range rows {
		terminal.Row(w, row.Outbox, row.EventID, row.EventType, row.Mark)
	}
}
