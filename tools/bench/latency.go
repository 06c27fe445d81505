package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// latencySizes are the sizes of a round of small events.
type latencySizes struct {
	Rate       int // events a second
	Recipients int // of each event
	Seconds    int
}

// latencyRounds measures how long after its commit a small event is with the provider, for the cases
// that do something else meanwhile.
type latencyRounds struct {
	latencySizes
	heraldAndBare
	read int64 // bytes already read of the sandbox's ledger
}

func (r *latencyRounds) a(ctx context.Context) (*figures, error) {
	r.rounds++
	r.ofA.begin()
	began, first := map[string]time.Time{}, time.Now()
	for i, id := range newIDs(r.herald.name, r.rounds, r.Seconds*r.Rate) {
		time.Sleep(time.Until(first.Add(time.Duration(i) * time.Second / time.Duration(r.Rate))))
		var err error
		if began[id], err = r.herald.write(ctx, []string{id}, "BENCH"); err != nil {
			return nil, err
		}
	}
	if err := r.herald.awaitCount(ctx, len(began), "SELECT count(*) FROM processed_event WHERE event_id = ANY ($1) AND status = 'SUCCESS'", slices.Collect(maps.Keys(began))); err != nil {
		return nil, err
	}
	requested, err := r.requests()
	if err != nil {
		return nil, err
	}
	var samples []float64
	for id, at := range requested {
		if since, known := began[id[:max(strings.LastIndex(id, "-staff"), 0)]]; known { // else it is of another event, such as a broadcast
			samples = append(samples, float64(at.Sub(since).Microseconds())/1000)
		}
	}
	if want := len(began) * r.Recipients; len(samples) != want {
		return nil, fmt.Errorf("%d deliveries were made, of %d", len(samples), want)
	}
	f := &figures{}
	f.addSamples("to the provider", "ms", samples)
	r.ofA.end(f, "delivery", len(samples))
	return f, nil
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
