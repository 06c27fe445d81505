package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"time"
)

// latency measures the time from the commit of a small event to its arrival at the provider, while the case
// does something else.
type latency struct {
	*installation

	Rate       int // events a second
	Recipients int // of each event
	Seconds    int // length of a round

	rounds int
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
		began[ids[i]], err = l.write(ctx, "BENCH", ids[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := l.awaitEvents(ctx, ids); err != nil {
		return nil, err
	}
	entries, err := l.Sandbox.Entries(ctx, began[ids[0]])
	if err != nil {
		return nil, err
	}
	var samples []float64
	for _, entry := range entries {
		event, _, _ := strings.Cut(entry.DeliveryID, "-staff")
		if since, known := began[event]; known { // otherwise the message belongs to another event, such as a broadcast
			samples = append(samples, float64(entry.Time.Sub(since).Microseconds())/1000)
		}
	}
	if want := len(began) * l.Recipients; len(samples) != want {
		return nil, fmt.Errorf("%d deliveries were made, of %d", len(samples), want)
	}
	f := &figures{}
	f.addSamples("to the provider", "ms", samples)
	return f, nil
}
