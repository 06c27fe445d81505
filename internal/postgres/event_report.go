package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// EventReport is all that the database knows of one event. It holds no address
// and no text.
type EventReport struct {
	EventID    string            `json:"event_id"`
	Outbox     *OutboxRow        `json:"outbox"`          // nil: the row was purged
	Processed  *ProcessedRow     `json:"processed_event"` // nil: it was not started yet
	Recipients []RecipientReport `json:"recipients"`
	More       int               `json:"more_recipients"` // who are not among Recipients
}

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

// RecipientReport is what was decided about one recipient, and what came of it.
type RecipientReport struct {
	UserType   notification.UserType                          `json:"user_type"`
	UserID     string                                         `json:"user_id"`
	DecidedAt  time.Time                                      `json:"decided_at"`
	Decisions  map[notification.Channel]notification.Decision `json:"decisions"`
	Deliveries map[notification.Channel]DeliveryReport        `json:"deliveries"`
}

// DeliveryReport is one delivery.
type DeliveryReport struct {
	DeliveryID string              `json:"delivery_id"`
	Status     notification.Status `json:"status"`
	Attempts   int                 `json:"attempts"`
	LastError  string              `json:"last_error"`
	SendAfter  *time.Time          `json:"send_after"`
	CreatedAt  time.Time           `json:"created_at"`
	SentAt     *time.Time          `json:"sent_at"`
	DigestID   string              `json:"digest_id"` // empty: it was sent alone
	Retries    int                 `json:"retries"`   // by operators
}

// EventReport reads what is known of an event, with its first maxRecipients
// recipients by user type and id. Where nothing is known, the error is
// [notification.ErrNoEvent].
func (s *Store) EventReport(ctx context.Context, eventID string, maxRecipients int) (EventReport, error) {
	report := EventReport{EventID: eventID}
	decided := 0
	batch := &pgx.Batch{}
	queueOutboxRow(batch, &report)
	queueProcessedRow(batch, &report)
	queueDecisions(batch, &report, &decided, maxRecipients)
	queueDeliveryReports(batch, &report, maxRecipients)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return EventReport{}, fmt.Errorf("read report of event: %w", err)
	}
	if report.Outbox == nil && report.Processed == nil && decided == 0 {
		return EventReport{}, notification.ErrNoEvent
	}
	report.More = max(0, decided-len(report.Recipients))
	return report, nil
}

func queueOutboxRow(batch *pgx.Batch, report *EventReport) {
	const query = `
		SELECT event_type, aggregate_type, aggregate_id, coalesce(correlation_id, '') AS correlation_id, status, created_at, published_at,
		       attempt_count, coalesce(error_message, '') AS error_message, lease_until
		FROM   event_outbox
		WHERE  event_id = $1`

	batch.Queue(query, report.EventID).Query(func(rows pgx.Rows) (err error) {
		report.Outbox, err = collectOptional[OutboxRow](rows)
		return err
	})
}

func queueProcessedRow(batch *pgx.Batch, report *EventReport) {
	const query = `
		SELECT status, coalesce(outcome, '') AS outcome, created_at, updated_at
		FROM   processed_event
		WHERE  event_id = $1`

	batch.Queue(query, report.EventID).Query(func(rows pgx.Rows) (err error) {
		report.Processed, err = collectOptional[ProcessedRow](rows)
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

// firstRecipients is the stretch of an event's recipients that a report shows:
// $1 is the event, $2 how many.
const firstRecipients = `
	SELECT user_type, user_id, decided_at, channels
	FROM   notification_decision
	WHERE  event_id = $1
	ORDER BY user_type, CASE WHEN user_id ~ '^[0-9]{1,18}$' THEN user_id::bigint END, user_id
	LIMIT  $2`

func queueDecisions(batch *pgx.Batch, report *EventReport, decided *int, limit int) {
	batch.Queue("SELECT count(*) FROM notification_decision WHERE event_id = $1", report.EventID).QueryRow(func(row pgx.Row) error {
		return row.Scan(decided)
	})
	batch.Queue(firstRecipients, report.EventID, limit).Query(func(rows pgx.Rows) error {
		report.Recipients = []RecipientReport{}
		for rows.Next() {
			r := RecipientReport{Deliveries: map[notification.Channel]DeliveryReport{}}
			if err := rows.Scan(&r.UserType, &r.UserID, &r.DecidedAt, &r.Decisions); err != nil {
				return err
			}
			report.Recipients = append(report.Recipients, r)
		}
		return rows.Err()
	})
}

func queueDeliveryReports(batch *pgx.Batch, report *EventReport, limit int) {
	const query = `
		SELECT n.user_type, n.user_id, n.channel, n.delivery_id, n.status, n.attempt_count, coalesce(n.last_error, ''),
		       n.send_after, n.created_at, n.sent_at, coalesce(n.digest_id, ''),
		       (SELECT count(*) FROM delivery_retry t WHERE t.delivery_id = n.delivery_id)
		FROM   notification n
		JOIN   (` + firstRecipients + `) r USING (user_type, user_id)
		WHERE  n.event_id = $1`

	type person struct {
		userType notification.UserType
		userID   string
	}
	batch.Queue(query, report.EventID, limit).Query(func(rows pgx.Rows) error {
		deliveries := map[person]map[notification.Channel]DeliveryReport{}
		for _, r := range report.Recipients {
			deliveries[person{r.UserType, r.UserID}] = r.Deliveries
		}
		var who person
		var channel notification.Channel
		var d DeliveryReport
		fields := []any{&who.userType, &who.userID, &channel, &d.DeliveryID, &d.Status, &d.Attempts, &d.LastError, &d.SendAfter, &d.CreatedAt, &d.SentAt, &d.DigestID, &d.Retries}
		_, err := pgx.ForEachRow(rows, fields, func() error {
			if of, shown := deliveries[who]; shown { // a recipient who was decided about a moment ago is not
				of[channel] = d
			}
			return nil
		})
		return err
	})
}
