package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"herald/internal/advice"
	"herald/internal/console"
)

// outcome is what became of one delivery or event.
type outcome struct {
	ID     string `json:"id"`
	Done   bool   `json:"done"`
	Result string `json:"result"`           // the same for all alike
	Detail string `json:"detail,omitempty"` // what is particular to this one
	next   string // what to do where it was not done
}

// said is an outcome in a sentence.
func (o outcome) said() string {
	if o.Detail == "" {
		return o.Result
	}
	return o.Result + ": " + o.Detail
}

// changes is what a job prints.
type changes struct {
	Matched int            `json:"matched"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Done    int            `json:"done"`
	Skipped map[string]int `json:"skipped"` // by why
	Failed  int            `json:"failed"`
	Through string         `json:"through,omitempty"` // of a selection: the key up to which all are through
	Items   []outcome      `json:"items,omitzero"`    // those that were named, or the first of a dry run
	Errors  []string       `json:"errors,omitempty"`  // the first of them
}

// refusal is the error of a job that did not all that it was named; nil: it did.
func (c changes) refusal(j job) error {
	if c.Done == c.Matched {
		return nil
	}
	for _, item := range c.Items {
		if item.Done {
			continue
		}
		err := fmt.Errorf("%d of %s: not done", c.Matched-c.Done, j.noun.count(c.Matched))
		if c.Matched == 1 {
			err = fmt.Errorf("%s %s", item.ID, item.said())
		}
		return advice.With(err, item.next)
	}
	return errors.New("not done")
}

// printItems prints those that were kept; of what was matched there may be more.
func (c changes) printItems(w io.Writer) {
	for _, item := range c.Items {
		console.Row(w, item.ID, item.Result, item.Detail)
	}
	if more := c.Matched - len(c.Items); more > 0 {
		console.Row(w, fmt.Sprintf("… and %s more", console.Grouped(more)))
	}
	if c.DryRun {
		console.Row(w, "nothing was changed")
	}
}

func (c changes) print(w io.Writer) {
	console.Row(w, "matched", console.Grouped(c.Matched))
	console.Row(w, "done", console.Grouped(c.Done))
	for _, why := range slices.Sorted(maps.Keys(c.Skipped)) {
		console.Row(w, "skipped", console.Grouped(c.Skipped[why]), why)
	}
	console.Row(w, "failed", console.Grouped(c.Failed))
	for _, text := range c.Errors {
		console.Row(w, "", "", text)
	}
}

// noun is what a job changes.
type noun struct{ one, many string }

var (
	theDeliveries = noun{"delivery", "deliveries"}
	theEvents     = noun{"event", "events"}
)

// count is 1,234 deliveries.
func (n noun) count(count int) string {
	if count == 1 {
		return "1 " + n.one
	}
	return console.Grouped(count) + " " + n.many
}

func (n noun) match(count int) string {
	if count == 1 {
		return n.count(1) + " matches"
	}
	return n.count(count) + " match"
}
