package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Backlog is how far behind the outbox is, and how deliveries went.
type Backlog struct {
	Pending       int             `json:"pending"`
	Failed        int             `json:"failed"`
	OldestPending time.Duration   `json:"-"` // age, by the database's clock; zero: nothing is pending
	Deliveries    []DeliveryCount `json:"deliveries"`
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
	const outbox = `
		SELECT count(*) FILTER (WHERE status = 'PENDING'),
		       count(*) FILTER (WHERE status = 'FAILED'),
		       coalesce(clock_timestamp() - min(created_at) FILTER (WHERE status = 'PENDING'), '0')
		FROM   event_outbox
		WHERE  status IN ('PENDING', 'FAILED')`
	const deliveries = `
		SELECT channel, status, count(*) AS count
		FROM   notification
		WHERE  created_at >= now() - $1::interval
		GROUP BY channel, status
		ORDER BY channel, status`

	backlog := Backlog{Deliveries: []DeliveryCount{}}
	batch := &pgx.Batch{}
	batch.Queue(outbox).QueryRow(func(row pgx.Row) error {
		return row.Scan(&backlog.Pending, &backlog.Failed, &backlog.OldestPending)
	})
	queueInto(batch, &backlog.Deliveries, deliveries, since)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return Backlog{}, fmt.Errorf("read backlog: %w", err)
	}
	return backlog, nil
}
