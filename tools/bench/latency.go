package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// latencySizes are the flags of the case latency.
type latencySizes struct {
	Rate       int
	Recipients int
	Seconds    int
}

func latency() *comparison {
	s := &latencySizes{}
	return &comparison{
		name:  "latency",
		about: "how long after its commit an event is with the provider, against the time from a start call to an activity",
		a:     "Herald, from before the commit of an event to each of its requests at the provider",
		b:     "bare Temporal, from before the start of a parent to the first line of the activity in each of its children",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Rate, "rate", 2, "events a second")
			flags.IntVar(&s.Recipients, "recipients", 3, "recipients of each, with one delivery each")
			flags.IntVar(&s.Seconds, "seconds", 12, "how long a round writes events; the percentiles are of all rounds together")
		},
		open:  s.open,
		goals: []goal{{figure: "to the provider p50", more: 10}, {figure: "to the provider p99", most: 1.5}},
	}
}

// latencyRounds runs the rounds of both sides.
type latencyRounds struct {
	latencySizes
	heraldAndBare
	read int64 // bytes already read of the sandbox's ledger
}

func (s *latencySizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Rate < 1 || s.Recipients < 1 || s.Seconds < 1 {
		return nil, nil, errors.New("there must be an event a second, a recipient and a second")
	}
	both, err := newHeraldAndBare(ctx, stage, s.Recipients)
	if err != nil {
		return nil, nil, err
	}
	r := &latencyRounds{latencySizes: *s, heraldAndBare: both}
	return r.a, r.b, nil
}

// paced calls begin for each id of the round at the given rate, and returns the times by id.
func (r *latencyRounds) paced(prefix string, begin func(id string) (time.Time, error)) (map[string]time.Time, error) {
	ids := newIDs(prefix, r.rounds, r.Seconds*r.Rate)
	at, first := map[string]time.Time{}, time.Now()
	for i, id := range ids {
		time.Sleep(time.Until(first.Add(time.Duration(i) * time.Second / time.Duration(r.Rate))))
		began, err := begin(id)
		if err != nil {
			return nil, err
		}
		at[id] = began
	}
	return at, nil
}

func (r *latencyRounds) a(ctx context.Context) (*figures, error) {
	r.rounds++
	r.ofA.begin(ctx)
	began, err := r.paced(r.herald.name, func(id string) (time.Time, error) { return r.herald.write(ctx, []string{id}, "BENCH") })
	if err != nil {
		return nil, err
	}
	if err := r.herald.awaitCount(ctx, len(began), "SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS'", keys(began)); err != nil {
		return nil, err
	}
	requested, err := r.requests()
	if err != nil {
		return nil, err
	}
	event := func(id string) string { return id[:max(strings.LastIndex(id, "-staff"), 0)] }
	maps.DeleteFunc(requested, func(id string, _ time.Time) bool { // deliveries of other events, such as a broadcast
		_, known := began[event(id)]
		return !known
	})
	return r.found(ctx, r.ofA, began, requested, event)
}

func (r *latencyRounds) b(ctx context.Context) (*figures, error) {
	r.ofB.begin(ctx)
	began, err := r.paced(r.bare.name, func(id string) (time.Time, error) {
		began := time.Now()
		return began, r.bare.start(ctx, id, r.Recipients)
	})
	if err != nil {
		return nil, err
	}
	if err := awaitClosed(ctx, r.bare.temporal, keys(began)); err != nil {
		return nil, err
	}
	return r.found(ctx, r.ofB, began, r.bare.take(), func(id string) string { return id[:strings.LastIndex(id, "-")] })
}

// requests returns the time at which the provider got each new delivery in its ledger.
func (r *latencyRounds) requests() (map[string]time.Time, error) {
	file, err := os.Open(filepath.Join(r.herald.dir, "ledger.ndjson"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(r.read, 0); err != nil {
		return nil, err
	}
	for at, lines := map[string]time.Time{}, bufio.NewReader(file); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the sandbox is still writing an incomplete line
			return at, nil
		}
		if err != nil {
			return nil, err
		}
		var entry struct {
			Time       time.Time
			DeliveryID string `json:"delivery_id"`
		}
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, err
		}
		at[entry.DeliveryID] = entry.Time
		r.read += int64(len(line))
	}
}

// found returns the figures of a round. The samples are the times from event to delivery.
func (r *latencyRounds) found(ctx context.Context, m *meter, began, ended map[string]time.Time, event func(deliveryID string) string) (*figures, error) {
	if want := len(began) * r.Recipients; len(ended) != want {
		return nil, fmt.Errorf("%d deliveries were made, of %d", len(ended), want)
	}
	var samples []float64
	for id, at := range ended {
		since, known := began[event(id)]
		if !known {
			return nil, fmt.Errorf("no event of this round has the delivery %s", id)
		}
		samples = append(samples, float64(at.Sub(since).Microseconds())/1000)
	}
	f := &figures{}
	f.addSamples("to the provider", "ms", samples)
	m.end(ctx, f, "delivery", len(ended))
	return f, nil
}

func keys(of map[string]time.Time) []string { return slices.Collect(maps.Keys(of)) }
