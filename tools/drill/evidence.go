package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// events returns the prefix of the events' ids. The pollers' ids have a different prefix.
func (s *stage) events() string { return s.Name + "-e" }

// gather reads the evidence. The load has ended.
func (s *stage) gather(ctx context.Context, load *load) (e evidence, err error) {
	var id string
	committed := map[string]bool{}
	if err := s.each(ctx, "SELECT event_id FROM drill.orders", []any{&id}, func() { committed[id] = true }); err != nil {
		return e, err
	}
	load.settle(committed)
	e.Events, e.Rows, e.Deliveries = load.Events, map[string]eventRow{}, map[string]deliveryRow{}
	var errs [5]error
	e.Ledger, errs[0] = s.Sandbox.Entries(ctx, time.Time{})
	errs[1] = s.readTables(ctx, e)
	e.Open, errs[2] = s.open(ctx)
	e.Published, errs[3] = s.ReadQueue()
	if s.hasTopic {
		e.Topic, errs[4] = s.readTopic(ctx)
	}
	return e, errors.Join(errs[:]...)
}

// each scans each row into the same variables, and calls do.
func (s *stage) each(ctx context.Context, sql string, scan []any, do func()) error {
	rows, _ := s.DB.Query(ctx, sql) // ForEachRow returns its error
	_, err := pgx.ForEachRow(rows, scan, func() error { do(); return nil })
	return err
}

func (s *stage) readTables(ctx context.Context, into evidence) error {
	var id string
	var e eventRow
	var d deliveryRow
	err := s.each(ctx, `
		SELECT o.event_id, o.status, coalesce(p.status, ''), coalesce(p.outcome, '')
		FROM   event_outbox o
		LEFT JOIN processed_event p USING (event_id)`, []any{&id, &e.Outbox, &e.Processed, &e.Outcome}, func() { into.Rows[id] = e })
	if err != nil {
		return err
	}
	return s.each(ctx, `
		SELECT n.delivery_id, n.status, a.calls, a.again
		FROM   notification n,
		LATERAL (
			SELECT count(*) FILTER (WHERE outcome IN ('SENT', 'LOST', 'AMBIGUOUS')) AS calls,
			       count(*) FILTER (WHERE EXISTS (
			           SELECT
			           FROM   delivery_attempt b
			           WHERE  b.delivery_id = a.delivery_id
			           AND    b.outcome = 'SENT'
			           AND    b.ended_at < a.started_at
			       )) AS again
			FROM   delivery_attempt a
			WHERE  a.delivery_id = n.delivery_id
		) a`, []any{&id, &d.Status, &d.Calls, &d.Again}, func() { into.Deliveries[id] = d })
}

// attempts returns the number of attempts by outcome.
func (s *stage) attempts(ctx context.Context) (map[notification.AttemptOutcome]int, error) {
	counts := map[notification.AttemptOutcome]int{}
	var outcome notification.AttemptOutcome
	var n int
	const query = "SELECT coalesce(outcome, 'OPEN'), count(*) FROM delivery_attempt GROUP BY 1"
	return counts, s.each(ctx, query, []any{&outcome, &n}, func() { counts[outcome] = n })
}
