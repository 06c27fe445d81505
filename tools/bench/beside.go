package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"
)

type besideSizes struct {
	Recipients int
	small      latencySizes
}

func nextToABroadcast() *comparison {
	s := &besideSizes{}
	return &comparison{
		name:  "beside",
		about: "how long after its commit a small event is with the provider while a broadcast goes out over the same channel, against a time without",
		a:     "Herald, while an event with very many recipients is planned and sent by the same worker",
		b:     "Herald, with nothing else to do",
		pairs: 3,
		limit: 20 * time.Minute,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Recipients, "recipients", 100_000, "of the broadcast")
			flags.IntVar(&s.small.Rate, "rate", 2, "small events a second")
			flags.IntVar(&s.small.Recipients, "small-recipients", 3, "recipients of each of these, with one delivery each")
			flags.IntVar(&s.small.Seconds, "seconds", 20, "how long a round writes small events, which must be less than the broadcast takes")
		},
		open:  s.open,
		goals: []goal{{figure: "to the provider p95", most: 2}},
	}
}

// besideRounds runs the rounds of both sides.
type besideRounds struct {
	besideSizes
	herald *herald
	small  *latencyRounds
}

func (s *besideSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Recipients < 1 || s.small.Rate < 1 || s.small.Recipients < 1 || s.small.Seconds < 1 {
		return nil, nil, errors.New("there must be a recipient of each, an event a second and a second")
	}
	r := &besideRounds{besideSizes: *s}
	if r.herald, err = stage.herald(ctx); err != nil {
		return nil, nil, err
	}
	if err := r.herald.makeCrowd(ctx, s.Recipients); err != nil {
		return nil, nil, err
	}
	if err := r.herald.makeRestaurant(ctx, s.small.Recipients); err != nil {
		return nil, nil, err
	}
	m := newMeter(ctx, r.herald.installation, pid(r.herald.worker.PID))
	r.small = &latencyRounds{latencySizes: s.small, heraldAndBare: heraldAndBare{herald: r.herald, ofA: m}}
	return r.during, r.quiet, nil
}

// quiet writes small events without a broadcast.
func (r *besideRounds) quiet(ctx context.Context) (*figures, error) {
	if err := r.herald.settle(ctx); err != nil {
		return nil, err
	}
	return r.writeSmall(ctx)
}

// writeSmall writes small events and returns only their times. It drops the worker's costs,
// because the broadcast causes most of them.
func (r *besideRounds) writeSmall(ctx context.Context) (*figures, error) {
	f, err := r.small.a(ctx)
	if err != nil {
		return nil, err
	}
	return &figures{f.all[:1]}, nil
}

// during writes small events after the first e-mail of a broadcast was sent.
func (r *besideRounds) during(ctx context.Context) (*figures, error) {
	if err := r.herald.settle(ctx); err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%s-news-%d", r.herald.name, r.small.rounds)
	if _, err := r.herald.announce(ctx, id); err != nil {
		return nil, err
	}
	if err := r.herald.awaitCount(ctx, 1, "SELECT count(*) FROM (SELECT FROM notification WHERE event_id = $1 AND status = 'SENT' LIMIT 1) n", id); err != nil {
		return nil, err
	}
	f, err := r.writeSmall(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.stillSending(ctx, id); err != nil {
		return nil, err
	}
	_, _, err = r.herald.awaitSent(ctx, id, r.Recipients)
	return f, err
}

// stillSending returns an error if the broadcast has ended.
func (r *besideRounds) stillSending(ctx context.Context, id string) error {
	ended, err := r.herald.count(ctx, "SELECT count(*) FROM processed_event WHERE event_id = $1 AND status <> 'PROCESSING'", id)
	if err == nil && ended > 0 {
		err = errors.New("the broadcast ended before the small events did: give it more --recipients, or these fewer --seconds")
	}
	return err
}
