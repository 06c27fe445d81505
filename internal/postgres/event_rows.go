package postgres

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// OutboxRow is a row of event_outbox, without its payload.
type OutboxRow struct {
	EventType     string     `json:"event_type"`
	AggregateType string     `json:"aggregate_type"`
	AggregateID   string     `json:"aggregate_id"`
	CorrelationID string     `json:"correlation_id"`
	Status        string     `json:"status"`
	CreatedAt     time.Time  `json:"created_at"`
	PublishedAt   *time.Time `json:"published_at"`
	AttemptCount  int        `json:"attempt_count"`
	ErrorMessage  string     `json:"error_message"`
	LeaseUntil    *time.Time `json:"lease_until"`
}

// ProcessedRow is a row of processed_event.
type ProcessedRow struct {
	Status    string    `json:"status"`
	Outcome   string    `json:"outcome"` // empty: it simply reached people, or has not ended
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

func queueOutboxRow(batch *pgx.Batch, eventID string, into **OutboxRow) {
	const query = `
		SELECT event_type, aggregate_type, aggregate_id, coalesce(correlation_id, '') AS correlation_id, status, created_at, published_at,
		       attempt_count, coalesce(error_message, '') AS error_message, lease_until
		FROM   event_outbox
		WHERE  event_id = $1`

	batch.Queue(query, eventID).Query(func(rows pgx.Rows) (err error) {
		*into, err = collectOptional[OutboxRow](rows)
		return err
	})
}

func queueProcessedRow(batch *pgx.Batch, eventID string, into **ProcessedRow) {
	const query = `
		SELECT status, coalesce(outcome, '') AS outcome, created_at, updated_at
		FROM   processed_event
		WHERE  event_id = $1`

	batch.Queue(query, eventID).Query(func(rows pgx.Rows) (err error) {
		*into, err = collectOptional[ProcessedRow](rows)
		return err
	})
}

func collectOptional[T any](rows pgx.Rows) (*T, error) {
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToAddrOfStructByName[T])
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return row, err
}

// optional is null for a zero value.
func optional[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}
