package main

import (
	"context"
	"flag"
	"time"
)

// floorRounds runs the rounds of the case floor.
type floorRounds struct {
	latency

	bare *bare
}

func floor() *comparison {
	s := &floorRounds{latency: latency{Seconds: 20}}
	return &comparison{
		name:  "floor",
		about: "how long one event takes to its provider while nothing else runs, next to what Temporal alone takes",
		a:     "Herald, from before the commit of the row to the request at the sandbox",
		b:     "bare Temporal, from before the start of a parent with one child to the child's activity",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Rate, "rate", 2, "events a second, one at a time")
			flags.IntVar(&s.Seconds, "seconds", s.Seconds, "length of a round")
		},
		open: s.open,
	}
}

func (s *floorRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	r := *s
	r.Recipients = 1
	if err := r.latency.open(ctx, stage); err != nil {
		return nil, nil, err
	}
	r.bare, err = newBare(r.installation)
	return r.measure, r.bareRound, err
}

func (r *floorRounds) bareRound(ctx context.Context) (*figures, error) {
	r.bare.rounds++
	var samples []float64
	ids := newIDs(r.bare.name, r.bare.rounds, r.Seconds*r.Rate)
	err := pace(len(ids), r.Rate, func(i int) error {
		began := time.Now()
		if err := r.bare.run(ctx, ids[i:i+1], 1); err != nil {
			return err
		}
		samples = append(samples, float64(r.bare.lastActivity().Sub(began).Microseconds())/1000)
		return nil
	})
	f := &figures{}
	f.addSamples("to the provider", "ms", samples)
	return f, err
}
