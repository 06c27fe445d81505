package main

import (
	"context"
	"errors"
)

func lifecycle() *comparison {
	s := &deliveryRounds{}
	return &comparison{
		name:  "lifecycle",
		about: "the case deliveries with the source lifecycle, against Herald without it",
		a:     "Herald, whose triggers write each change and whose poller sends it to a topic",
		b:     "Herald, without triggers and source",
		named: true,
		flags: s.flags,
		open:  s.openLifecycle,
		goals: []goal{{figure: "deliveries", least: 0.9}},
	}
}

func (s *deliveryRounds) openLifecycle(ctx context.Context, stage *stage) (a, b round, err error) {
	in, err := stage.prepare(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := in.SendLifecycle(ctx, 4, ""); err != nil {
		return nil, nil, err
	}
	if err := in.start(ctx); err != nil {
		return nil, nil, err
	}
	with, err := s.on(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	b, _, err = s.open(ctx, stage)
	return with.lifecycleRound, b, err
}

// lifecycleRound ends when all changes are sent, because sending would slow down the next round.
func (r *deliveryRounds) lifecycleRound(ctx context.Context) (*figures, error) {
	f, err := r.round(ctx)
	if err != nil {
		return nil, err
	}
	return f, r.until(ctx, roundTime, "not all changes are sent", func() (bool, error) {
		var written, unsent int
		err := r.DB.QueryRow(ctx, "SELECT count(*), count(*) FILTER (WHERE NOT sent) FROM lifecycle_event").Scan(&written, &unsent)
		if err == nil && written == 0 {
			err = errors.New("no change was written")
		}
		return unsent == 0, err
	})
}
