package main

import (
	"cmp"
	"math"
	"strconv"
	"strings"
)

// scaled is what a thing costs, as the cases name it.
type scaled struct {
	name   string // for people
	figure string // of a case, without what it is counted for
	per    float64
	unit   string // of the load, where it differs
}

// costsAtScale are what docs/scale.md reckons with.
var costsAtScale = []scaled{
	{"state transitions", "state transitions per ", 1, ""},
	{"history events", "history events per ", 1, ""},
	{"statements of Herald", "statements of Herald per ", 1, ""},
	{"statements of Temporal", "statements of Temporal per ", 1, ""},
	{"processor time of the worker, ms", "processor time of the worker per ", 1000, "processors for workers"},
	{"processor time of Temporal, ms", "processor time of Temporal per ", 1000, "processors for Temporal"},
	{"processor time of Postgres, ms", "processor time of Postgres per ", 1000, "processors for Postgres"},
}

// cost is a figure of Herald's in a case. One that was not measured is NaN.
func (r *tableReport) cost(name, figure string) float64 {
	for _, c := range r.Cases {
		if c.Name != name {
			continue
		}
		if s := c.figure(figure).A; s != nil {
			return s.Median
		}
	}
	return math.NaN()
}

// recipients is how many deliveries an event of the case deliveries has.
func (r *tableReport) recipients() float64 {
	for _, c := range r.Cases {
		if sizes, ok := c.Sizes.(*deliverySizes); ok {
			return float64(sizes.Recipients)
		}
	}
	return math.NaN()
}

// ofEvent is what an event with its deliveries costs.
func (r *tableReport) ofEvent(s scaled) float64 {
	own := r.cost("deliveries", s.figure+"event") // of the event's own workflow, where it is counted by itself
	if math.IsNaN(own) {
		own = 0
	}
	return own + r.recipients()*r.cost("deliveries", s.figure+"delivery")
}

// scaleCosts is the table of what an event and a delivery cost.
func scaleCosts(r *tableReport) string {
	n := r.recipients()
	rows := [][]string{{"", "an event without deliveries", "an event with " + about(n), "so each delivery adds", "a delivery of a broadcast"}}
	for _, s := range costsAtScale {
		none, all := r.cost("relay", s.figure+"event"), r.ofEvent(s)
		ofBroadcast := r.cost("broadcast", s.figure+"delivery")
		if planned := r.cost("broadcast", s.figure+"planned delivery"); !math.IsNaN(planned) {
			ofBroadcast += planned
		}
		rows = append(rows, []string{s.name, about(none), about(all), about((all - none) / n), about(ofBroadcast)})
	}
	return markdown(rows)
}

// eventsPerSecond are the loads that docs/scale.md is about.
var eventsPerSecond = []float64{1000, 10_000}

// What docs/scale.md takes for granted of the servers of a large installation.
const (
	writeTime    = 0.005 // seconds that a history shard is busy with a state transition
	providerTime = 0.1   // seconds until a provider answers
	rowsOfEach   = 3     // of a delivery: notification, notification_decision, delivery_attempt
	daySeconds   = 86_400
)

// scaleLoad is the table of what loads come to.
func scaleLoad(r *tableReport) string {
	n := r.recipients()
	head := []string{"a second"}
	for _, events := range eventsPerSecond {
		head = append(head, about(events)+" events with "+about(n)+" deliveries each")
	}
	rows := [][]string{head}
	add := func(name string, ofEvents func(events float64) float64) {
		row := []string{name}
		for _, events := range eventsPerSecond {
			row = append(row, about(ofEvents(events)))
		}
		rows = append(rows, row)
	}
	transitions := costsAtScale[0]
	for _, s := range costsAtScale {
		add(cmp.Or(s.unit, s.name), func(events float64) float64 { return events * r.ofEvent(s) / s.per })
	}
	add("history shards that are busy", func(events float64) float64 { return events * r.ofEvent(transitions) * writeTime })
	add("calls to providers under way", func(events float64) float64 { return events * n * providerTime })
	add("worker processes for these, if all are of one channel", func(events float64) float64 { return math.Ceil(events * n * providerTime / slots) })
	add("new rows a day in the three large tables, millions", func(events float64) float64 { return events * n * rowsOfEach * daySeconds / 1e6 })
	return markdown(rows)
}

// about is a number with three digits that count, and thousands set apart. One that was not
// measured is a dash.
func about(f float64) string {
	if math.IsNaN(f) {
		return "-"
	}
	if math.Abs(f) < 1000 {
		if text := number(f); strings.Contains(text, ".") {
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") // 6.00 is 6
		}
		return number(f)
	}
	step := math.Pow(10, math.Floor(math.Log10(math.Abs(f)))-2)
	digits := strconv.FormatFloat(math.Round(f/step)*step, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
