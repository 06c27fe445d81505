package event

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// CancelledByOperator is the error_message of an event that an operator withdrew.
const CancelledByOperator = "cancelled by an operator"

// EventState is the state of an event that operators' commands need.
type EventState struct {
	Source    string // of event_outbox; empty: there is no row
	Outbox    notification.OutboxStatus
	Error     string // error_message; empty: none
	Processed notification.ProcessedStatus
	Outcome   notification.EventOutcome // of processed_event; empty: none

	Cancels     string // the event that this event cancels; empty: none
	CancelledBy string // the event that cancels this event; empty: none
}

// EventState reads the state of an event. If nothing is known of the event, the error is
// [notification.ErrNoEvent].
func (s Store) EventState(ctx context.Context, eventID string) (EventState, error) {
	const query = `
		SELECT coalesce(n.source, '') AS source,
		       coalesce(n.status, '') AS outbox,
		       coalesce(n.error_message, '') AS error,
		       coalesce(p.status, '') AS processed,
		       coalesce(p.outcome, '') AS outcome,
		       coalesce(n.cancels, '') AS cancels,
		       coalesce(` + db.Canceller + `, '') AS cancelled_by
		FROM   (SELECT * FROM event_outbox WHERE event_id = $1) n
		FULL JOIN (SELECT * FROM processed_event WHERE event_id = $1) p USING (event_id)`

	state, err := db.One(ctx, s.Pool, "read event", db.ByName[EventState](), query, eventID)
	return state, db.NoRowsAs(err, notification.ErrNoEvent)
}

// RetryEvent puts an event whose workflow does not run back to PENDING and deletes its row
// in processed_event, in one statement. It returns false for an event that succeeded, or
// that is PENDING for the first time.
func (s Store) RetryEvent(ctx context.Context, eventID string) (bool, error) {
	const query = `
		WITH failed AS (
			SELECT o.event_id
			FROM   event_outbox o
			LEFT JOIN processed_event p USING (event_id)
			WHERE  o.event_id = $1
			AND    (p.status IN ('FAILED', 'PROCESSING') OR (p.status IS NULL AND o.status = 'FAILED'))
			FOR UPDATE OF o
		), forgotten AS (
			DELETE FROM processed_event p
			USING  failed f
			WHERE  p.event_id = f.event_id
			AND    p.status <> 'SUCCESS'
		), retried AS (
			UPDATE event_outbox o
			SET    status        = 'PENDING',
			       attempt_count = 0,
			       error_message = NULL,
			       withdrawn_at  = NULL,
			       published_at  = NULL,
			       lease_owner   = NULL,
			       lease_until   = NULL
			FROM   failed f
			WHERE  o.event_id = f.event_id
			RETURNING o.event_id
		)
		SELECT count(*) = 1, pg_notify('event_outbox', '')::text
		FROM   retried`

	var retried bool
	var hint string
	err := s.Pool.QueryRow(ctx, query, eventID).Scan(&retried, &hint)
	return retried, db.Wrap(err, "retry event")
}

// BeginAnew marks an event that notified nobody, or not everybody, as PROCESSING, so that its
// workflow can start again. It returns whether it did. It also marks an event that is
// PROCESSING since an earlier call whose start was lost. The sweep leaves the event alone
// for a while, and then repeats a lost start.
func (s Store) BeginAnew(ctx context.Context, eventID string) (event notification.PendingEvent, begun bool, err error) {
	const query = `
		UPDATE processed_event p
		SET    status     = 'PROCESSING',
		       outcome    = NULL,
		       problem    = NULL,
		       restarts   = 0,
		       created_at = now(),
		       updated_at = now()
		FROM   event_outbox o
		WHERE  p.event_id = $1
		AND    o.event_id = p.event_id
		AND    (p.status = 'PROCESSING' OR (p.status = 'SUCCESS' AND p.outcome = ANY ($2)))
		RETURNING o.event_id AS id, o.source, ` + pendingFacts

	found, err := db.Collect(ctx, s.Pool, "begin event anew", pgx.RowToStructByNameLax[notification.PendingEvent], query, eventID,
		notification.MendableOutcomes())
	if err != nil || len(found) == 0 {
		return notification.PendingEvent{}, false, err
	}
	return found[0], true, nil
}

// WithdrawEvent prevents the start of an event that no poller has claimed, and returns
// whether it did. If the event was started before, it first cancels the deliveries that
// still wait, as [Store.FinishEvent] does. An interruption leaves the event PENDING, and a
// repeat withdraws it.
func (s Store) WithdrawEvent(ctx context.Context, eventID string) (bool, error) {
	const query = `
		UPDATE event_outbox
		SET    status        = 'FAILED',
		       error_message = $2,
		       withdrawn_at  = now(),
		       lease_owner   = NULL,
		       lease_until   = NULL
		WHERE  event_id = $1
		AND    status = 'PENDING'
		AND    (lease_until IS NULL OR lease_until < now())`

	if err := s.cancelPending(ctx, eventID, notification.EventWithdrawn); err != nil {
		return false, db.Wrap(err, "withdraw event")
	}
	done, err := s.Pool.Exec(ctx, query, eventID, CancelledByOperator)
	return done.RowsAffected() == 1, db.Wrap(err, "withdraw event")
}

// EventCounts counts an event's deliveries by status.
func (s Store) EventCounts(ctx context.Context, eventID string) (map[notification.Status]int, error) {
	counts := map[notification.Status]int{}
	batch := &pgx.Batch{}
	db.QueueCounts(batch, counts, countByStatus, eventID)
	return counts, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "count deliveries of event")
}
