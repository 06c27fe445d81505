package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"herald/tools/sandbox"
)

// latency measures how long after its commit a small event is with the provider, for the cases
// that do something else meanwhile.
type latency struct {
	*installation

	Rate       int // events a second
	Recipients int // of each event
	Seconds    int // length of a round

	rounds int
	read   int64 // bytes already read of the sandbox's ledger
}

func (l *latency) flags(flags *flag.FlagSet) {
	flags.IntVar(&l.Rate, "rate", 2, "small events a second")
	flags.IntVar(&l.Recipients, "small-recipients", 3, "recipients of each of these, with one delivery each")
	flags.IntVar(&l.Seconds, "seconds", l.Seconds, "how long a round writes small events")
}

// open starts Herald.
func (l *latency) open(ctx context.Context, stage *stage, settings ...string) (err error) {
	if l.installation, err = stage.herald(ctx, nil, settings...); err != nil {
		return err
	}
	return l.makeRestaurant(ctx, l.Recipients)
}

// measure writes small events for a round.
func (l *latency) measure(ctx context.Context) (*figures, error) {
	l.rounds++
	ids, began := newIDs(l.Name, l.rounds, l.Seconds*l.Rate), map[string]time.Time{}
	err := pace(len(ids), l.Rate, func(i int) (err error) {
		began[ids[i]], err = l.write(ctx, ids[i:i+1], "BENCH")
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := l.awaitEvents(ctx, ids); err != nil {
		return nil, err
	}
	requested, err := l.requests()
	if err != nil {
		return nil, err
	}
	var samples []float64
	for id, at := range requested {
		if since, known := began[id[:max(strings.LastIndex(id, "-staff"), 0)]]; known { // else it is of another event, such as a broadcast
			samples = append(samples, float64(at.Sub(since).Microseconds())/1000)
		}
	}
	if want := len(began) * l.Recipients; len(samples) != want {
		return nil, fmt.Errorf("%d deliveries were made, of %d", len(samples), want)
	}
	f := &figures{}
	f.addSamples("to the provider", "ms", samples)
	return f, nil
}

// requests returns the time at which the provider got each new delivery in its ledger.
func (l *latency) requests() (map[string]time.Time, error) {
	file, err := os.Open(l.Ledger())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(l.read, 0); err != nil {
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
		var entry sandbox.Entry
		if err := json.Unmarshal(line, &entry); err != nil {
			return nil, err
		}
		at[entry.DeliveryID] = entry.Time
		l.read += int64(len(line))
	}
}
