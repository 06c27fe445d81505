package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// DecisionKey names one recipient and one channel of an event.
type DecisionKey struct {
	EventID  string
	UserType notification.UserType
	UserID   string
	Channel  notification.Channel
}

// DecisionReport is what was decided about one recipient and one channel of an
// event, and the rows that decide about them as they are now. It holds no
// address: where one is set, [present] stands for it.
type DecisionReport struct {
	EventType string
	Outbox    *OutboxRow                                     // nil: the row was purged
	Processed *ProcessedRow                                  // nil: it was not started yet
	Decisions map[notification.Channel]notification.Decision // nil: nothing was decided about the recipient
	DecidedAt time.Time
	Chosen    int // recipients of the event who were selected for the channel

	Routed        []notification.Channel // over which the event's type goes
	Known, Active bool                   // the recipient, in the directory
	HasPreference bool                   // there is a row for the channel
	Case          notification.Case
	Unreached     []string // why the event does not name the recipient; empty: it does, or its row was purged
}

// present stands for an address, which is nobody's business here.
const present = "(set)"

// DecisionReport reads what is known of a decision. Where nothing is known of
// the event, the error is [notification.ErrNoEvent].
func (s *Store) DecisionReport(ctx context.Context, key DecisionKey) (DecisionReport, error) {
	report := DecisionReport{Case: notification.Case{Channel: key.Channel, Recipient: notification.Recipient{UserType: key.UserType, UserID: key.UserID}}}
	if err := s.readDecided(ctx, key, &report); err != nil {
		return DecisionReport{}, err
	}
	batch := &pgx.Batch{}
	queueRecipient(batch, key, &report)
	queuePreference(batch, key, &report)
	queueRoutes(batch, key, &report)
	queueServed(batch, key, &report)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return DecisionReport{}, fmt.Errorf("read rules of decision: %w", err)
	}
	if err := s.readEntity(ctx, key, &report); err != nil {
		return DecisionReport{}, err
	}
	return report, nil
}

// readDecided reads the event and what was decided then.
func (s *Store) readDecided(ctx context.Context, key DecisionKey, report *DecisionReport) error {
	const decided = `
		SELECT decided_at, channels
		FROM   notification_decision
		WHERE  event_id = $1
		AND    user_type = $2
		AND    user_id = $3`
	const chosen = `
		SELECT count(*)
		FROM   notification_decision
		WHERE  event_id = $1
		AND    channels ->> $2 = 'SELECTED'`

	batch := &pgx.Batch{}
	queueOutboxRow(batch, key.EventID, &report.Outbox)
	queueProcessedRow(batch, key.EventID, &report.Processed)
	batch.Queue(decided, key.EventID, key.UserType, key.UserID).QueryRow(func(row pgx.Row) error {
		return ignoreNoRows(row.Scan(&report.DecidedAt, &report.Decisions))
	})
	batch.Queue(chosen, key.EventID, string(key.Channel)).QueryRow(func(row pgx.Row) error { return row.Scan(&report.Chosen) })
	batch.Queue("SELECT event_type FROM notification WHERE event_id = $1 LIMIT 1", key.EventID).QueryRow(func(row pgx.Row) error {
		return ignoreNoRows(row.Scan(&report.EventType))
	})
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("read decision: %w", err)
	}
	if report.Outbox != nil {
		report.EventType = report.Outbox.EventType
	}
	if report.Outbox == nil && report.Processed == nil && report.Decisions == nil && report.EventType == "" {
		return notification.ErrNoEvent
	}
	return nil
}

func ignoreNoRows(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}
