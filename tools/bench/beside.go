package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
)

// besideRounds runs the rounds of the case "beside".
type besideRounds struct {
	latency

	People int // of the broadcast
}

func nextToABroadcast() *comparison {
	s := &besideRounds{latency: latency{Seconds: 20}}
	return &comparison{
		name: "beside",
		about: "how long after its commit a small event is with the provider while a broadcast goes out over the same channel, " +
			"against a time without",
		a: "Herald, while an event with very many recipients is planned and sent by the same worker",
		b: "Herald, with nothing else to do",
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.People, "recipients", 100_000, "of the broadcast, which must take longer than the small events")
			s.latency.flags(flags)
		},
		open:  s.open,
		goals: []goal{{figure: "to the provider p95", most: 2}},
	}
}

func (s *besideRounds) open(ctx context.Context, stage *stage) (a, b round, err error) {
	r := *s
	if err := r.latency.open(ctx, stage); err != nil {
		return nil, nil, err
	}
	return r.during, r.quiet, r.makeCrowd(ctx, s.People)
}

// quiet writes small events without a broadcast.
func (r *besideRounds) quiet(ctx context.Context) (*figures, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	return r.measure(ctx)
}

// during writes small events after the first e-mail of a broadcast was sent.
func (r *besideRounds) during(ctx context.Context) (*figures, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%s-news-%d", r.Name, r.rounds)
	if _, err := r.announce(ctx, id); err != nil {
		return nil, err
	}
	const begun = "SELECT count(*) FROM (SELECT FROM notification WHERE event_id = $1 AND status = 'SENT' LIMIT 1) n"
	if err := r.awaitCount(ctx, 1, begun, id); err != nil {
		return nil, err
	}
	f, err := r.measure(ctx)
	if err != nil {
		return nil, err
	}
	ended, err := r.Count(ctx, hasEnded, id)
	if err != nil {
		return nil, err
	}
	if ended > 0 {
		return nil, errors.New("the broadcast ended before the small events: use more --recipients or fewer --seconds")
	}
	_, _, err = r.awaitSent(ctx, id, r.People)
	return f, err
}
