// Scale prints what a load needs, from the measured costs of one event and one delivery, for docs/scale.md:
//
//	go run ./tools/scale 10 100 1000
package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// cost holds the costs of one event or one delivery. Processor times are in milliseconds of one core.
type cost struct {
	transitions                float64 // writes of Temporal
	worker, temporal, postgres float64
}

// The measured costs, by `make bench ARGS='load deliveries broadcast'`.
var (
	ofEvent     = cost{transitions: 2, worker: 3.98, temporal: 13.0, postgres: 3.00}
	ofDelivery  = cost{transitions: 7.03, worker: 4.06, temporal: 23.1, postgres: 1.88}
	ofBroadcast = cost{transitions: 0.01, worker: 0.125, temporal: 0.0353, postgres: 0.152}
)

const (
	deliveriesOfEvent = 6
	headroom          = 2     // above about 80 % load, queues only grow; a peak is longer than its average
	transitionTime    = 0.005 // seconds of a history shard
	providerTime      = 0.1   // seconds of a call to a provider
	slots             = 64    // concurrent calls of a channel in one process
	startsOfPoller    = 1000  // a second
	tasksOfPartition  = 500   // a second
)

// plus returns n times both costs.
func (c cost) plus(other cost, n float64) cost {
	return cost{c.transitions + n*other.transitions, c.worker + n*other.worker, c.temporal + n*other.temporal, c.postgres + n*other.postgres}
}

// row is a line of the table, with a value for each load.
type row struct {
	name  string
	value func(deliveries float64) string
}

func rows() []row {
	event := ofEvent.plus(ofDelivery, deliveriesOfEvent)
	cores := func(milliseconds float64) string {
		return whole(milliseconds / 1000 * headroom)
	}
	events := func(deliveries float64) float64 { return deliveries / deliveriesOfEvent }
	return []row{
		{"events", func(n float64) string { return whole(events(n)) }},
		{"state transitions", func(n float64) string { return whole(events(n) * event.transitions) }},
		{"cores of Temporal with its database", func(n float64) string { return cores(events(n) * event.temporal) }},
		{"cores of Herald's Postgres", func(n float64) string { return cores(events(n) * event.postgres) }},
		{"cores of workers", func(n float64) string { return cores(events(n) * event.worker) }},
		{"history shards", func(n float64) string { return power(events(n) * event.transitions * transitionTime * headroom) }},
		{"partitions of a busy queue", func(n float64) string { return power(math.Max(4, n*headroom/tasksOfPartition)) }},
		{"`OUTBOX_POLLERS`", func(n float64) string { return whole(events(n) * headroom / startsOfPoller) }},
		{"worker processes for one channel", func(n float64) string { return whole(n * providerTime * headroom / slots) }},
		{"the same as broadcasts: cores of all", func(n float64) string {
			return cores(n * (ofBroadcast.worker + ofBroadcast.temporal + ofBroadcast.postgres))
		}},
		{"rows a day in the three large tables, millions", func(n float64) string { return whole(n * 86400 * 3 / 1e6) }},
	}
}

// whole rounds up, because nobody has half a core.
func whole(n float64) string { return strconv.FormatFloat(math.Ceil(n), 'f', 0, 64) }

// power rounds up to a power of two, at least 4.
func power(n float64) string { return whole(math.Exp2(math.Ceil(math.Log2(math.Max(4, n))))) }

// table prints the rows as Markdown.
func table(w io.Writer, loads ...float64) {
	fmt.Fprint(w, "| deliveries a second, in events of six |")
	for _, load := range loads {
		fmt.Fprintf(w, " %s |", whole(load))
	}
	fmt.Fprintf(w, "\n|---|%s\n", strings.Repeat("---|", len(loads)))
	for _, row := range rows() {
		fmt.Fprintf(w, "| %s |", row.name)
		for _, load := range loads {
			fmt.Fprintf(w, " %s |", row.value(load))
		}
		fmt.Fprintln(w)
	}
}

// costs prints the measured costs as Markdown.
func costs(w io.Writer) {
	fmt.Fprintln(w, "|  | an event without deliveries | each delivery adds | a delivery of a broadcast |")
	fmt.Fprintln(w, "|---|---|---|---|")
	for _, line := range []struct {
		name string
		of   func(cost) float64
	}{
		{"state transitions", func(c cost) float64 { return c.transitions }},
		{"processor time of the worker, ms", func(c cost) float64 { return c.worker }},
		{"processor time of Temporal, ms", func(c cost) float64 { return c.temporal }},
		{"processor time of Postgres, ms", func(c cost) float64 { return c.postgres }},
	} {
		fmt.Fprintf(w, "| %s | %.3g | %.3g | %.3g |\n", line.name, line.of(ofEvent), line.of(ofDelivery), line.of(ofBroadcast))
	}
}

func main() {
	var loads []float64
	for _, arg := range os.Args[1:] {
		load, err := strconv.ParseFloat(arg, 64)
		if err != nil || load <= 0 || math.IsInf(load, 0) {
			fmt.Fprintf(os.Stderr, "scale: %q: give deliveries a second, such as 10 100 1000\n", arg)
			os.Exit(2)
		}
		loads = append(loads, load)
	}
	if len(loads) == 0 {
		loads = []float64{10, 100, 1000}
	}
	costs(os.Stdout)
	fmt.Println()
	table(os.Stdout, loads...)
}
