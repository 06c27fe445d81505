package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// events returns the prefix of the ids of events. The pollers' ids begin otherwise.
func (s *stage) events() string { return s.Name + "-e" }

// gather reads the evidence. The load has ended.
func (s *stage) gather(ctx context.Context, load *load) (e evidence, err error) {
	committed := map[string]bool{}
	if err := s.each(ctx, "SELECT event_id FROM drill.orders", func(row pgx.CollectableRow) error {
		var id string
		err := row.Scan(&id)
		committed[id] = true
		return err
	}); err != nil {
		return e, err
	}
	e.Events = load.settle(committed)
	var errs [5]error
	e.Accepted, errs[0] = s.accepted(ctx)
	e.Tables, errs[1] = s.readTables(ctx)
	e.Open, errs[2] = s.open(ctx)
	e.Published, errs[3] = s.readQueue()
	if s.hasTopic {
		e.Topic, errs[4] = s.readTopic(ctx)
	}
	return e, errors.Join(errs[:]...)
}

// accepted returns the messages that the providers accepted.
func (s *stage) accepted(ctx context.Context) (all []accepted, err error) {
	entries, err := s.Sandbox.Entries(ctx, time.Time{})
	for _, entry := range entries {
		if entry.Accepted {
			all = append(all, accepted{entry.Time, entry.DeliveryID, entry.Recipient, entry.Body + entry.Text})
		}
	}
	return all, err
}

func (s *stage) each(ctx context.Context, sql string, do func(pgx.CollectableRow) error) error {
	rows, err := s.DB.Query(ctx, sql)
	if err != nil {
		return err
	}
	_, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (struct{}, error) { return struct{}{}, do(row) })
	return err
}

func (s *stage) readTables(ctx context.Context) (tables, error) {
	t := tables{Events: map[string]eventRow{}, Deliveries: map[string]deliveryRow{}}
	err := s.each(ctx, `
		SELECT o.event_id, o.status, coalesce(p.status, ''), coalesce(p.outcome, '')
		FROM   event_outbox o
		LEFT JOIN processed_event p USING (event_id)`, func(row pgx.CollectableRow) error {
		var id string
		var e eventRow
		err := row.Scan(&id, &e.Outbox, &e.Processed, &e.Outcome)
		t.Events[id] = e
		return err
	})
	if err != nil {
		return t, err
	}
	return t, s.each(ctx, `
		SELECT n.delivery_id, n.status, a.calls, a.again
		FROM   notification n,
		LATERAL (
			SELECT count(*) FILTER (WHERE outcome IN ('SENT', 'LOST', 'AMBIGUOUS')) AS calls,
			       count(*) FILTER (WHERE EXISTS (SELECT FROM delivery_attempt b WHERE b.delivery_id = a.delivery_id AND b.outcome = 'SENT' AND b.ended_at < a.started_at)) AS again
			FROM   delivery_attempt a
			WHERE  a.delivery_id = n.delivery_id
		) a`, func(row pgx.CollectableRow) error {
		var id string
		var d deliveryRow
		err := row.Scan(&id, &d.Status, &d.Calls, &d.Again)
		t.Deliveries[id] = d
		return err
	})
}

// attempts returns the number of attempts by outcome.
func (s *stage) attempts(ctx context.Context) (map[notification.AttemptOutcome]int, error) {
	counts := map[notification.AttemptOutcome]int{}
	return counts, s.each(ctx, "SELECT coalesce(outcome, 'OPEN'), count(*) FROM delivery_attempt GROUP BY 1", func(row pgx.CollectableRow) error {
		var outcome notification.AttemptOutcome
		var n int
		err := row.Scan(&outcome, &n)
		counts[outcome] = n
		return err
	})
}
