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

// show writes the table of who has what: a line for each event, or, if all is true, for each person
// and channel.
func show(w io.Writer, r *demo.Result, all bool) {
	terminal.Row(w)
	if all {
		showAll(w, r)
		terminal.Row(w)
	} else {
		showSummary(w, r.Results)
		terminal.Row(w)
		terminal.Row(w, "2/4: two of four possible messages were sent; the notes say why the others were not")
	}
	var counts []string
	total := 0
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		counts = append(counts, fmt.Sprintf("%d %s", r.Statuses[status], status))
		total += r.Statuses[status]
	}
	terminal.Row(w, fmt.Sprintf("%d events, %d deliveries: %s", len(r.Outcomes), total, strings.Join(counts, ", ")))
	if n := len(r.Rows); n > 0 {
		sent := 0
		for _, row := range r.Rows {
			if row.Sent {
				sent++
			}
		}
		terminal.Row(w, fmt.Sprintf("%d of %d rows from the outboxes of two other services are in Kafka", sent, n))
	}
	for _, deviation := range r.Deviations {
		terminal.Row(w, "DEVIATION: "+deviation)
	}
	if len(r.Deviations) == 0 {
		terminal.Row(w, "every delivery ended as the rules say, including the failures on purpose, and the ledger agrees")
	}
}

// showAll writes a line for each person and channel, and the rows of the services' outboxes.
func showAll(w io.Writer, r *demo.Result) {
	terminal.Row(w, "EVENT", "RECIPIENT", "CHANNEL", "DECISION", "STATUS", "HAS IT", "WHY")
	for _, f := range r.Results {
		why := f.Why
		if why == "" && f.Digest != "" {
			why = fmt.Sprintf("in %s (%d)", f.Digest, r.Digests[f.Digest])
		}
		terminal.Row(w, f.Event, terminal.Dash(f.Recipient), terminal.Dash(f.Channel), terminal.Dash(f.Decision), terminal.Dash(f.Status),
			terminal.Dash(f.Has), terminal.Dash(why))
	}
	printRows(w, r.Rows)
}

// printRows writes the table of the services' outboxes.
func printRows(w io.Writer, rows []demo.ServiceRow) {
	if len(rows) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, "two services have separate outboxes:")
	terminal.Row(w, "OUTBOX", "EVENT", "TYPE", "MARK")
	for _, row := range rows {
		terminal.Row(w, row.Outbox, row.EventID, row.EventType, row.Mark)
	}
}
