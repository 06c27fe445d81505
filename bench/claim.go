package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// claimSizes are the flags of the case claim.
type claimSizes struct {
	Processed int `json:"processed"`
	Passing   int `json:"passing"`
	Claims    int `json:"claims"`
}

func claim() *comparison {
	s := &claimSizes{}
	return &comparison{
		name:  "claim",
		about: "a poller's claim of 100 events in a table that grows, and while a session holds an old snapshot",
		a:     "beside processed rows; and while a transaction is open from before many rows that were written, claimed and ended",
		b:     "in a table that was empty before",
		limit: 15 * time.Minute,
		large: 2,
		sizes: s,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Processed, "processed", 1_000_000, "rows that are processed")
			flags.IntVar(&s.Passing, "passing", 60_000, "rows that pass in a round while the old snapshot is held")
			flags.IntVar(&s.Claims, "claims", 100, "claims of a round that are measured")
		},
		open: s.open,
		goals: []goal{
			{figure: besideProcessed + " p50", most: 1.5},
			{figure: besideSnapshot + " p50", most: 2},
		},
	}
}

const (
	besideProcessed = "claim beside processed rows"
	besideSnapshot  = "claim beside an old snapshot"
	// claimLimit is how many events a claim takes, as a poller's does.
	claimLimit = 100
	claimLease = time.Minute
)

// claimRounds are both sides. Each table has a database of its own.
type claimRounds struct {
	claimSizes
	processed, passing, empty *outboxTable
}

func (s *claimSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Processed < 0 || s.Passing < 0 || s.Claims < 1 {
		return nil, nil, errors.New("there must be a claim, and no fewer rows than none")
	}
	r := &claimRounds{claimSizes: *s}
	for _, table := range []**outboxTable{&r.processed, &r.passing, &r.empty} {
		if *table, err = newOutboxTable(ctx, stage); err != nil {
			return nil, nil, err
		}
	}
	stage.say("writing %d processed rows", s.Processed)
	return r.a, r.b, r.processed.writeProcessed(ctx, s.Processed)
}

func (r *claimRounds) a(ctx context.Context) (*figures, error) {
	f := &figures{}
	times, err := r.processed.claims(ctx, r.Claims)
	if err != nil {
		return nil, err
	}
	f.addSamples(besideProcessed, "ms", times)
	times, err = r.passing.besideSnapshot(ctx, r.Passing, r.Claims)
	if err != nil {
		return nil, err
	}
	f.addSamples(besideSnapshot, "ms", times)
	return f, nil
}

func (r *claimRounds) b(ctx context.Context) (*figures, error) {
	f := &figures{}
	for _, name := range []string{besideProcessed, besideSnapshot} {
		if err := r.empty.clear(ctx); err != nil {
			return nil, err
		}
		times, err := r.empty.claims(ctx, r.Claims)
		if err != nil {
			return nil, err
		}
		f.addSamples(name, "ms", times)
	}
	return f, nil
}

// outboxTable is an event_outbox in a database of its own, which nobody else polls.
type outboxTable struct {
	*installation
	store *postgres.Store
}

func newOutboxTable(ctx context.Context, stage *stage) (*outboxTable, error) {
	in, err := stage.install(ctx)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, in.db.Config().ConnString(), "bench")
	if err != nil {
		return nil, err
	}
	in.atEnd(func(context.Context) error { store.Close(); return nil })
	return &outboxTable{in, store}, nil
}

// writeProcessed writes rows as a poller leaves them.
func (t *outboxTable) writeProcessed(ctx context.Context, n int) error {
	_, err := t.db.Exec(ctx, fmt.Sprintf(`
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, status, published_at, attempt_count)
		SELECT gen_random_uuid(), 'BENCH', 'RESTAURANT', '1', '{"guests": 4}', 'PROCESSED', now(), 1 FROM generate_series(1, %d);
		INSERT INTO processed_event (event_id, status) SELECT event_id, 'SUCCESS' FROM event_outbox`, n))
	if err == nil {
		_, err = t.db.Exec(ctx, "VACUUM ANALYZE event_outbox, processed_event")
	}
	return err
}

func (t *outboxTable) clear(ctx context.Context) error {
	_, err := t.db.Exec(ctx, "TRUNCATE event_outbox, processed_event")
	return err
}

// besideSnapshot has rows written, claimed and ended while a transaction from before them is
// open, and measures the claims that follow.
func (t *outboxTable) besideSnapshot(ctx context.Context, rows, n int) (times []float64, err error) {
	old, err := t.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, err
	}
	defer func() { _ = old.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := old.Exec(ctx, "SELECT FROM event_outbox LIMIT 1"); err != nil {
		return nil, err
	}
	if _, err := t.claims(ctx, rows/claimLimit); err != nil {
		return nil, err
	}
	return t.claims(ctx, n)
}

// claims writes events, claims and ends them, as often as it is told, and returns how long each
// claim took in milliseconds.
func (t *outboxTable) claims(ctx context.Context, n int) (times []float64, err error) {
	for range n {
		if _, err := t.write(ctx, newUUIDs(claimLimit), "BENCH"); err != nil {
			return nil, err
		}
		began := time.Now()
		events, err := t.store.ClaimEvents(ctx, "bench", claimLimit, claimLease)
		times = append(times, time.Since(began).Seconds()*1000)
		if err == nil && len(events) != claimLimit {
			err = fmt.Errorf("a claim took %d of %d events", len(events), claimLimit)
		}
		if err != nil {
			return nil, err
		}
		ended := make([]notification.ClaimResult, 0, claimLimit)
		for _, event := range events {
			ended = append(ended, notification.ClaimResult{EventID: event.ID, Outcome: notification.ClaimStarted})
		}
		if err := t.store.EndClaim(ctx, "bench", ended); err != nil {
			return nil, err
		}
	}
	return times, nil
}
