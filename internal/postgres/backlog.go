package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// OutboxState is how far behind the outbox is.
type OutboxState struct {
	Pending       int           `json:"pending"` // up to MostCounted
	Failed        int           `json:"failed"`  // up to MostCounted
	OldestPending time.Duration `json:"-"`       // age, by the database's clock; zero: nothing is pending
}

// MostCounted bounds what one look at the outbox costs the database.
const MostCounted = 100_000

// OutboxState reads how far behind the outbox is.
func (s *Store) OutboxState(ctx context.Context) (OutboxState, error) {
	const query = `
		SELECT p.pending, f.failed, p.oldest
		FROM  (SELECT count(*) AS pending,
		              coalesce(greatest(clock_timestamp() - min(created_at), '0'), '0') AS oldest
		       FROM  (SELECT created_at
		              FROM   event_outbox
		              WHERE  status = 'PENDING'
		              ORDER BY seq
		              LIMIT  $1) AS first) AS p,
		      (SELECT count(*) AS failed
		       FROM  (SELECT
		              FROM   event_outbox
		              WHERE  status = 'FAILED'
		              LIMIT  $1) AS any_of_them) AS f`

	var state OutboxState
	err := s.Pool.QueryRow(ctx, query, MostCounted).Scan(&state.Pending, &state.Failed, &state.OldestPending)
	if err != nil {
		return OutboxState{}, fmt.Errorf("read outbox: %w", err)
	}
	return state, nil
}

// Backlog is how far behind the outbox is, and how deliveries went.
type Backlog struct {
	OutboxState
	Deliveries []DeliveryCount `json:"deliveries"`
}

// DeliveryCount counts the deliveries of one channel in one status.
type DeliveryCount struct {
	Channel notification.Channel `json:"channel"`
	Status  notification.Status  `json:"status"`
	Count   int                  `json:"count"`
}

// Backlog reads the state of the outbox, and the deliveries that were planned
// in the time since, up to now. It costs what there is of them.
func (s *Store) Backlog(ctx context.Context, since time.Duration) (Backlog, error) {
	const deliveries = `
		SELECT channel, status, count(*) AS count
		FROM   notification
		WHERE  created_at >= now() - $1::interval
		GROUP BY channel, status
		ORDER BY channel, status`

	outbox, err := s.OutboxState(ctx)
	if err != nil {
		return Backlog{}, err
	}
	backlog := Backlog{OutboxState: outbox, Deliveries: []DeliveryCount{}}
	rows, err := s.Pool.Query(ctx, deliveries, since)
	if err != nil {
		return Backlog{}, fmt.Errorf("count deliveries: %w", err)
	}
	if backlog.Deliveries, err = pgx.AppendRows(backlog.Deliveries, rows, pgx.RowToStructByName[DeliveryCount]); err != nil {
		return Backlog{}, fmt.Errorf("count deliveries: %w", err)
	}
	return backlog, nil
}
