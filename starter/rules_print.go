package main

import (
	"fmt"
	"io"
	"strings"

	"herald/internal/rules"
	"herald/internal/terminal"
)

// printRulesPlan prints a plan, and how many events it would decide differently.
func printRulesPlan(w io.Writer, result rulesResult) {
	for _, c := range result.Changes {
		printRuleChange(w, c)
	}
	if !result.Differs() {
		terminal.Row(w, "no difference")
	} else {
		terminal.Row(w, fmt.Sprintf("%d to create, %d to change, %d to delete; %d of them changed by hand since the last apply",
			result.Count(rules.Create), result.Count(rules.Modify), result.Count(rules.Delete), len(result.Drifted())))
	}
	if n := len(result.Unowned); n > 0 {
		terminal.Row(w, fmt.Sprintf("%d rows are in no file, such as %s; --prune deletes them", n, result.Unowned[0].Name()))
	}
	if c := result.Comparison; c != nil && result.Differs() {
		terminal.Row(w, comparisonText(*c))
	}
}

// comparisonText returns "2 of 20 events of the last 24 hours would be decided differently: PROMOTION".
func comparisonText(c rules.Comparison) string {
	text := fmt.Sprintf("%d of %d events of the last 24 hours would be decided differently", c.Different, c.Events)
	if len(c.Types) > 0 {
		text += ": " + strings.Join(c.Types, ", ")
	}
	if c.Skipped > 0 {
		text += fmt.Sprintf("; %d larger or later ones were not compared", c.Skipped)
	}
	return text
}

// signs are the first letters of the lines that name a change.
var signs = map[rules.Action]string{rules.Create: "+", rules.Modify: "~", rules.Delete: "-"}

func printRuleChange(w io.Writer, c rules.Change) {
	line := signs[c.Action] + " " + c.Name()
	if c.File != "" {
		line += fmt.Sprintf(" (%s:%d)", c.File, c.Line)
	}
	terminal.Row(w, line)
	for _, column := range c.Columns() {
		before, after := c.Text(column, c.Before), c.Text(column, c.After)
		switch {
		case strings.Contains(before+after, "\n"):
			terminal.Row(w, "    "+column+":")
			printLines(w, before, after)
		case c.Action == rules.Modify:
			terminal.Row(w, fmt.Sprintf("    %s: %s -> %s", column, before, after))
		default:
			terminal.Row(w, fmt.Sprintf("    %s: %s", column, before+after))
		}
	}
	if d := c.Drift; d != nil {
		terminal.Row(w, fmt.Sprintf("    changed by hand since %s applied it at %s", d.AppliedBy, terminal.Clock(&d.AppliedAt)))
	}
}

// printLines prints the lines that differ between two texts. An empty text has no line.
func printLines(w io.Writer, before, after string) {
	lines := func(text string) []string {
		return strings.Split(text, "\n")[:min(len(text), strings.Count(text, "\n")+1)]
	}
	old, now := lines(before), lines(after)
	for len(old) > 0 && len(now) > 0 && old[0] == now[0] {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	for _, line := range old {
		terminal.Row(w, "      - "+line)
	}
	for _, line := range now {
		terminal.Row(w, "      + "+line)
	}
}
