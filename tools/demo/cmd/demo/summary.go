package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"herald/internal/notification"
	"herald/internal/terminal"
	"herald/tools/demo"
)

// line summarizes one event, or similar events, such as review-1 and review-2.
type line struct {
	name    string
	events  map[string]bool
	people  map[string]bool
	digests map[string]int // deliveries by digest id
	cells   map[notification.Channel]cell
	reasons map[string]int // number of deliveries that the rules left out, by reason
	notes   []string
}

// cell counts the deliveries that were possible over one channel.
type cell struct {
	possible int
	got      int // sent, and not known to be lost
}

// summarize returns the lines in the order of the events.
func summarize(results []demo.RecipientResult) []*line {
	var lines []*line
	for _, r := range results {
		name := strings.TrimRight(strings.TrimRight(r.Event, "0123456789"), "-")
		i := slices.IndexFunc(lines, func(l *line) bool { return l.name == name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, &line{
				name: name, events: map[string]bool{}, people: map[string]bool{}, digests: map[string]int{},
				cells: map[notification.Channel]cell{}, reasons: map[string]int{},
			})
		}
		lines[i].add(r)
	}
	return lines
}

func (l *line) add(r demo.RecipientResult) {
	l.events[r.Event] = true
	if r.Recipient == "" {
		l.reasons[words(r.Why)]++
		return
	}
	l.people[r.Recipient] = true
	c := l.cells[r.Channel]
	c.possible++
	switch {
	case r.Status == notification.Sent || r.Status == notification.Delivered:
		c.got++
	case r.Status == notification.Pending:
		l.notes = append(l.notes, fmt.Sprintf("%s waits %s", r.Channel, r.Why))
	case r.Status != "":
		l.notes = append(l.notes, fmt.Sprintf("%s %s: %s", r.Channel, words(string(r.Status)), shortened(r.Why)))
	default:
		l.reasons[words(string(r.Decision))]++
	}
	l.cells[r.Channel] = c
	if r.Digest != "" {
		l.digests[r.Digest]++
	}
	if r.Has == demo.HasRead && r.Channel == notification.WebSocket {
		l.notes = append(l.notes, "read in the inbox, so nothing follows")
	}
}

// title returns the name with the number of events, if there are several.
func (l *line) title() string {
	if len(l.events) == 1 {
		return slices.Collect(maps.Keys(l.events))[0]
	}
	return fmt.Sprintf("%s (%s)", l.name, counted(len(l.events), "event"))
}

// who returns the person, or the number of people.
func (l *line) who() string {
	switch len(l.people) {
	case 0:
		return "nobody"
	case 1:
		return slices.Collect(maps.Keys(l.people))[0]
	default:
		return fmt.Sprintf("%d people", len(l.people))
	}
}

// count returns how many of the possible deliveries over a channel were sent.
func (l *line) count(channel notification.Channel) string {
	c, any := l.cells[channel]
	if !any {
		return "-"
	}
	return fmt.Sprintf("%d/%d", c.got, c.possible)
}

const (
	shownReasons = 3
	shownRunes   = 36 // of a provider's error
)

// note returns failures, waits and digests, and the most frequent reasons for which the rules left
// somebody out.
func (l *line) note() string {
	notes := slices.Clone(l.notes)
	items, mails := 0, 0
	for _, n := range l.digests {
		if n > 1 {
			items, mails = items+n, mails+1
		}
	}
	if mails > 0 {
		notes = append(notes, fmt.Sprintf("%d in %s", items, counted(mails, "digest")))
	}
	reasons := slices.SortedFunc(maps.Keys(l.reasons), func(a, b string) int {
		return cmp.Or(l.reasons[b]-l.reasons[a], strings.Compare(a, b))
	})
	others := 0
	for i, reason := range reasons {
		switch {
		case i >= shownReasons:
			others += l.reasons[reason]
		case len(l.people) == 0:
			notes = append(notes, reason)
		default:
			notes = append(notes, fmt.Sprintf("%d %s", l.reasons[reason], reason))
		}
	}
	if others > 0 {
		notes = append(notes, counted(others, "other"))
	}
	return strings.Join(notes, ", ")
}

// counted returns a number with its noun.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// words returns a code such as QUIET_HOURS as words.
func words(code string) string { return strings.ToLower(strings.ReplaceAll(code, "_", " ")) }

func shortened(text string) string {
	if runes := []rune(text); len(runes) > shownRunes {
		return strings.TrimSpace(string(runes[:shownRunes-1])) + "…"
	}
	return text
}

// showSummary writes one line for each event, or for similar events. A count such as 2/4 means that
// two of four possible deliveries were sent.
func showSummary(w io.Writer, results []demo.RecipientResult) {
	lines := summarize(results)
	channels := slices.DeleteFunc(notification.Channels(), func(channel notification.Channel) bool {
		return !slices.ContainsFunc(results, func(r demo.RecipientResult) bool { return r.Channel == channel })
	})
	row := []any{"EVENT", "WHO"}
	for _, channel := range channels {
		row = append(row, channel)
	}
	terminal.Row(w, append(row, "NOTES")...)
	for _, l := range lines {
		row := []any{l.title(), l.who()}
		for _, channel := range channels {
			row = append(row, l.count(channel))
		}
		terminal.Row(w, append(row, l.note())...)
	}
}
