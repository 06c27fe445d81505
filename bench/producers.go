package main

import (
	"context"
	"errors"
	"flag"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// producerSizes are the flags of the case producers.
type producerSizes struct {
	Writers int `json:"writers"`
	Seconds int `json:"seconds"`
}

func producers() *comparison {
	s := &producerSizes{}
	return &comparison{
		name:  "producers",
		about: "what the hint to the poller costs those who write events",
		a:     "writers with a transaction for each event, and a listener",
		b:     "the same into a table without the trigger",
		sizes: s,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Writers, "writers", 32, "services that write at once")
			flags.IntVar(&s.Seconds, "seconds", 4, "length of a round")
		},
		open:  s.open,
		goals: []goal{{figure: "commits", least: 0.85}},
	}
}

// producerRounds are both sides: the same table, whose trigger is off for B.
type producerRounds struct {
	producerSizes
	table   *outboxTable
	writers *pgxpool.Pool
}

func (s *producerSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Writers < 1 || s.Seconds < 1 {
		return nil, nil, errors.New("there must be a writer, and a second")
	}
	r := &producerRounds{producerSizes: *s}
	if r.table, err = newOutboxTable(ctx, stage); err != nil {
		return nil, nil, err
	}
	config := r.table.db.Config()
	config.MaxConns = int32(s.Writers)
	if r.writers, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, nil, err
	}
	r.table.atEnd(func(context.Context) error { r.writers.Close(); return nil })
	listening, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.table.store.ListenEvents(listening, func() {})
	}()
	r.table.atEnd(func(context.Context) error { stop(); <-ended; return nil })
	return func(ctx context.Context) (*figures, error) { return r.round(ctx, "ENABLE") },
		func(ctx context.Context) (*figures, error) { return r.round(ctx, "DISABLE") }, nil
}

// round counts the commits of all writers.
func (r *producerRounds) round(ctx context.Context, trigger string) (*figures, error) {
	if err := r.table.clear(ctx); err != nil {
		return nil, err
	}
	if _, err := r.table.db.Exec(ctx, "ALTER TABLE event_outbox "+trigger+" TRIGGER event_outbox_notify"); err != nil {
		return nil, err
	}
	began := time.Now()
	writing, stop := context.WithDeadline(ctx, began.Add(time.Duration(r.Seconds)*time.Second))
	defer stop()
	group, commits := errgroup.Group{}, make([]int, r.Writers)
	for i := range commits {
		group.Go(func() error { return r.commit(ctx, writing, &commits[i]) })
	}
	err := group.Wait()
	took := time.Since(began)
	all := 0
	for _, n := range commits {
		all += n
	}
	f := &figures{}
	f.add("commits", "per second", float64(all)/took.Seconds())
	return f, err
}

// commit writes events until writing ends, each in a transaction of its own.
func (r *producerRounds) commit(ctx, writing context.Context, commits *int) error {
	for writing.Err() == nil {
		_, err := r.writers.Exec(ctx, `
			INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
			VALUES ($1, 'BENCH', 'RESTAURANT', '1', '{"guests": 4}')`, uuid.NewString())
		if err != nil {
			return err
		}
		*commits++
	}
	return nil
}

// newUUIDs are ids as producers choose them.
func newUUIDs(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	return ids
}
