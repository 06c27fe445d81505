package main

import "context"

// heraldAndBare are Herald, with a restaurant whose staff gets mails, and bare Temporal beside it.
type heraldAndBare struct {
	herald   *herald
	bare     *bare
	ofA, ofB *meter
	rounds   int
}

// newHeraldAndBare starts both.
func newHeraldAndBare(ctx context.Context, stage *stage, staff int) (s heraldAndBare, err error) {
	if s.herald, err = stage.herald(ctx); err != nil {
		return heraldAndBare{}, err
	}
	if err := s.herald.makeRestaurant(ctx, staff); err != nil {
		return heraldAndBare{}, err
	}
	if s.bare, err = newBare(ctx, s.herald); err != nil {
		return heraldAndBare{}, err
	}
	s.ofA, s.ofB = newMeter(ctx, s.herald.installation, s.herald.worker.pid), newMeter(ctx, s.herald.installation, self())
	return s, nil
}
