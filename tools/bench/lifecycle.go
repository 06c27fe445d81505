package main

import (
	"context"
	"errors"
	"fmt"
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
	if err := in.startLifecycle(ctx); err != nil {
		return nil, nil, err
	}
	with, err := s.on(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	b, _, err = s.open(ctx, stage)
	return with.lifecycleRound, b, err
}

// startLifecycle starts an installation that sends its lifecycle to a topic.
func (in *installation) startLifecycle(ctx context.Context) error {
	if err := in.Data.CreateTopic(ctx, in.topic("lifecycle"), 4); err != nil {
		return err
	}
	if err := in.Sources(fmt.Sprintf("- { name: lifecycle, kafka: { topic: %s } }\n", in.topic("lifecycle"))); err != nil {
		return err
	}
	if err := in.Starter(ctx, "source", "migrate", "lifecycle"); err != nil {
		return err
	}
	return in.start(ctx)
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
