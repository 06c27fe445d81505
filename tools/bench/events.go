package main

import (
	"context"
	"flag"
	"os"
	"time"
)

// eventRounds runs the rounds of the case events. A is the A of the case load.
type eventRounds struct {
	*loadRounds

	bare *bare
	ofB  *meter
}

func events() *comparison {
	s := &loadRounds{}
	return &comparison{
		name:  "events",
		about: "events without deliveries, and the least that Temporal can do of that",
		a:     "Herald, from before the commit of the rows to the last end; each event's message goes to RabbitMQ",
		b:     "bare Temporal, from the first start to the last end: an empty workflow for each event, which starts eagerly",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Events, "events", 4_000, "events of a round, written at once")
		},
		open: func(ctx context.Context, stage *stage) (a, b round, err error) {
			r := &eventRounds{}
			if r.loadRounds, err = s.on(ctx, stage); err != nil {
				return nil, nil, err
			}
			if r.bare, err = newBare(r.installation); err != nil {
				return nil, nil, err
			}
			r.bare.eager = true
			r.ofB = newMeter(ctx, r.DB, os.Getpid())
			return r.a, r.b, nil
		},
	}
}

func (r *eventRounds) b(ctx context.Context) (*figures, error) {
	r.looped++
	r.ofB.begin()
	began := time.Now()
	if _, err := r.bare.start(ctx, newIDs(r.bare.name, r.looped, r.Events), 0); err != nil {
		return nil, err
	}
	if err := r.awaitNoneRunning(ctx, r.bare.name+"-events"); err != nil {
		return nil, err
	}
	f := &figures{}
	f.add("events", "per minute", float64(r.Events)/time.Since(began).Minutes())
	r.ofB.end(f, "event", r.Events)
	return f, nil
}
