package report

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// EventDetail is everything that the database knows of one event.
type EventDetail struct {
	EventID    string            `json:"event_id"`
	Outbox     *LeasedRow        `json:"outbox"`          // nil: the row was purged
	Processed  *ProcessedRow     `json:"processed_event"` // nil: it was not started yet
	Deliveries DeliveryTotals    `json:"deliveries"`
	Recipients []RecipientDetail `json:"recipients"`
	More       int               `json:"more_recipients"` // recipients who are not among Recipients
	AtLeast    bool              `json:"-"`               // there may be more rows than were counted

	Cancelled map[notification.Status]int `json:"cancelled_deliveries,omitempty"` // deliveries of the event that this event cancels, by status
}

// LeasedRow is a row of event_outbox with its lease. It names the event that cancels it,
// and the event that it cancels.
type LeasedRow struct {
	OutboxRow
	Source         string     `json:"source"`
	AcknowledgedAt *time.Time `json:"acknowledged_at"` // when RabbitMQ acknowledged its message; nil: not yet, or it has none
	// when the topic of Herald's own outbox acknowledged it; nil: not yet, or there is no topic
	ProducedAt     *time.Time `json:"produced_at"`
	LeaseUntil     *time.Time `json:"lease_until"`
	ExpiresAt      *time.Time `json:"expires_at"`
	CollapseKey    string     `json:"collapse_key"`    // empty: the event replaces none
	Actor          string     `json:"actor"`           // who caused it, as RESTAURANT_USER/10; empty: unknown
	Exclude        []string   `json:"exclude"`         // people who are not told, as RESTAURANT_USER/10
	Cancels        string     `json:"cancels"`         // the event that it cancels; empty: none
	CancelsUnknown bool       `json:"cancels_unknown"` // nothing is known of that event: it has not come, or was purged
	CancelledBy    string     `json:"cancelled_by"`    // the event that cancels it; empty: none
	CancelledAt    *time.Time `json:"cancelled_at"`    // when that event was written
}

// ProcessedRow is a row of processed_event.
type ProcessedRow struct {
	Status    notification.ProcessedStatus `json:"status"`
	Outcome   notification.EventOutcome    `json:"outcome"` // empty: it reached people without a problem, or has not ended
	Problem   string                       `json:"problem"` // which rows of the rules named nobody; empty: none
	CreatedAt time.Time                    `json:"created_at"`
	UpdatedAt time.Time                    `json:"updated_at"`
}

// DeliveryTotals counts all deliveries of an event.
type DeliveryTotals struct {
	ByStatus map[notification.Status]int `json:"by_status"`
	ReadBy   int                         `json:"read_by"` // recipients who have read a notification of the event

	FailedWithoutWorkflow int `json:"failed_without_workflow"` // deliveries that failed in batches after the first 1,000
}

// sum adds counts.
func sum(counts map[notification.Status]int) (all int) {
	for _, count := range counts {
		all += count
	}
	return all
}

// RecipientDetail holds the decisions about one recipient, and their deliveries.
type RecipientDetail struct {
	UserType   notification.UserType                          `json:"user_type"`
	UserID     string                                         `json:"user_id"`
	DecidedAt  time.Time                                      `json:"decided_at"`
	Decisions  map[notification.Channel]notification.Decision `json:"decisions"`
	Deliveries map[notification.Channel]RecipientDelivery     `db:"-" json:"deliveries"`
}

// Name returns a name such as RESTAURANT_USER/10.
func (r RecipientDetail) Name() string { return string(r.UserType) + "/" + r.UserID }

// RecipientDelivery is one delivery.
type RecipientDelivery struct {
	DeliveryID string              `json:"delivery_id"`
	Status     notification.Status `json:"status"`
	Attempts   int                 `json:"attempts"`
	LastError  string              `json:"last_error"`
	SendAfter  *time.Time          `json:"send_after"`
	CreatedAt  time.Time           `json:"created_at"`
	SentAt     *time.Time          `json:"sent_at"`
	ReadAt     *time.Time          `json:"read_at"`   // when the recipient read a notification of the event
	DigestID   string              `json:"digest_id"` // empty: it was sent alone
	Retries    int                 `json:"retries"`   // by operators

	EscalatesTo   notification.Channel `json:"escalates_to"`   // the next channel if it does not arrive; empty: none
	EscalatedFrom string               `json:"escalated_from"` // the delivery that it follows; empty: none
}

// EventDetail reads an event with its first maxRecipients recipients, by user type and id. It counts
// up to maxCounted rows of each kind; 0: all. If nothing is known of the event, the error is
// [notification.ErrNoEvent].
func (r Reader) EventDetail(ctx context.Context, eventID string, maxRecipients, maxCounted int) (EventDetail, error) {
	detail := EventDetail{EventID: eventID}
	decided := 0
	batch := &pgx.Batch{}
	queueRow(batch, &detail.Outbox, outboxRow, eventID)
	queueRow(batch, &detail.Processed, processedRow, eventID)
	queueTotals(batch, &detail, maxCounted)
	queueDecisions(batch, &detail, &decided, maxRecipients, maxCounted)
	queueDeliveries(batch, &detail, maxRecipients)
	queueCancelled(batch, &detail, maxCounted)
	if err := r.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return EventDetail{}, db.Wrap(err, "read event")
	}
	if detail.Outbox == nil && detail.Processed == nil && decided == 0 {
		return EventDetail{}, notification.ErrNoEvent
	}
	detail.More = max(0, decided-len(detail.Recipients))
	detail.AtLeast = maxCounted > 0 && max(decided, sum(detail.Deliveries.ByStatus), sum(detail.Cancelled)) >= maxCounted
	slices.SortFunc(detail.Recipients, func(a, b RecipientDetail) int { // by length, so that 9 is before 10
		return cmp.Or(cmp.Compare(a.UserType, b.UserType), cmp.Compare(len(a.UserID), len(b.UserID)), cmp.Compare(a.UserID, b.UserID))
	})
	return detail, nil
}

const (
	// outboxRow reads the event $1 as a [LeasedRow].
	outboxRow = `
		SELECT ` + OutboxColumns + `, e.lease_until, e.expires_at, coalesce(e.collapse_key, '') AS collapse_key,
		       coalesce(e.actor_type || '/' || e.actor_id, '') AS actor, coalesce(e.exclude, '{}') AS exclude,
		       e.source, e.acknowledged_at, e.produced_at,
		       coalesce(e.cancels, '') AS cancels,
		       e.cancels IS NOT NULL
		       AND NOT EXISTS (SELECT FROM event_outbox o WHERE o.event_id = e.cancels)
		       AND NOT EXISTS (SELECT FROM processed_event p WHERE p.event_id = e.cancels)
		       AND NOT EXISTS (SELECT FROM notification n WHERE n.event_id = e.cancels) AS cancels_unknown,
		       coalesce(y.event_id, '') AS cancelled_by, y.created_at AS cancelled_at
		FROM   event_outbox e
		LEFT JOIN LATERAL (SELECT y.event_id, y.created_at FROM event_outbox y WHERE y.cancels = e.event_id
		       AND (y.cancels_types IS NULL OR e.event_type = ANY (y.cancels_types)) ORDER BY y.seq LIMIT 1) y ON true
		WHERE  e.event_id = $1`
	// processedRow reads the event $1 as a [ProcessedRow].
	processedRow = `
		SELECT status, coalesce(outcome, '') AS outcome, coalesce(problem, '') AS problem, created_at, updated_at
		FROM   processed_event
		WHERE  event_id = $1`
)

// queueTotals counts the deliveries of the event, the recipients who have read any, and the failed
// deliveries without a Temporal workflow. It counts up to maxCounted that are open, and as many others, so
// that a large event shows its problems. The planner cannot see the number of deliveries, and keeps
// its plan.
func queueTotals(batch *pgx.Batch, detail *EventDetail, maxCounted int) {
	const deliveries = `
		FROM ((SELECT * FROM notification WHERE event_id = (SELECT $1::text) AND status IN ('PENDING', 'FAILED') LIMIT nullif($2::int, 0))
		      UNION ALL
		      (SELECT * FROM notification WHERE event_id = (SELECT $1::text) AND status NOT IN ('PENDING', 'FAILED') LIMIT nullif($2::int, 0))) n`

	const others = `
		SELECT count(DISTINCT (user_type, user_id)) FILTER (WHERE read_at IS NOT NULL),
		       count(*) FILTER (WHERE status = 'FAILED' AND NOT failed_child)` + deliveries

	totals := &detail.Deliveries
	totals.ByStatus = map[notification.Status]int{}
	db.QueueCounts(batch, totals.ByStatus, "SELECT status, count(*)"+deliveries+" GROUP BY status", detail.EventID, maxCounted)
	batch.Queue(others, detail.EventID, maxCounted).QueryRow(func(row pgx.Row) error {
		return row.Scan(&totals.ReadBy, &totals.FailedWithoutWorkflow)
	})
}

// queueCancelled counts the deliveries of the event that this event cancels.
func queueCancelled(batch *pgx.Batch, detail *EventDetail, maxCounted int) {
	const query = `
		SELECT status, count(*)
		FROM   (SELECT n.status
		        FROM   event_outbox e
		        JOIN   notification n ON n.event_id = e.cancels
		        WHERE  e.event_id = $1
		        AND    (e.cancels_types IS NULL OR n.event_type = ANY (e.cancels_types))
		        LIMIT  nullif($2::int, 0)) n
		GROUP BY status`

	detail.Cancelled = map[notification.Status]int{}
	db.QueueCounts(batch, detail.Cancelled, query, detail.EventID, maxCounted)
}

// firstRecipients reads the first recipients of the event $1, up to $2.
const firstRecipients = `
	SELECT user_type, user_id, decided_at, channels AS decisions
	FROM   notification_decision
	WHERE  event_id = $1
	ORDER BY user_type, user_id
	LIMIT  $2`

func queueDecisions(batch *pgx.Batch, detail *EventDetail, decided *int, limit, maxCounted int) {
	const count = `
		SELECT count(*)
		FROM   (SELECT FROM notification_decision WHERE event_id = $1 LIMIT nullif($2::int, 0)) d`

	batch.Queue(count, detail.EventID, maxCounted).QueryRow(func(row pgx.Row) error { return row.Scan(decided) })
	queueRows(batch, &detail.Recipients, firstRecipients, detail.EventID, limit)
}

func queueDeliveries(batch *pgx.Batch, detail *EventDetail, limit int) {
	const query = `
		SELECT n.user_type, n.user_id, n.channel, n.delivery_id, n.status, n.attempt_count AS attempts, coalesce(n.last_error, '') AS last_error,
		       n.send_after, n.created_at, n.sent_at, n.read_at, coalesce(n.digest_id, '') AS digest_id,
		       (SELECT count(*) FROM delivery_retry t WHERE t.delivery_id = n.delivery_id) AS retries,
		       CASE WHEN x.to_channel IS NULL OR n.read_at IS NOT NULL OR n.status = 'CANCELLED'
		           OR (n.status = 'DELIVERED' AND x.until = 'DELIVERED') THEN ''
		            ELSE x.to_channel END AS escalates_to, coalesce(n.escalated_from, '') AS escalated_from
		FROM   notification n
		LEFT JOIN event_type_escalation x ON n.escalates AND x.event_type = n.event_type AND x.from_channel = n.channel
		JOIN   (` + firstRecipients + `) r USING (user_type, user_id)
		WHERE  n.event_id = $1`

	type row struct {
		UserType notification.UserType
		UserID   string
		Channel  notification.Channel
		RecipientDelivery
	}
	batch.Queue(query, detail.EventID, limit).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
		for i := range detail.Recipients {
			detail.Recipients[i].Deliveries = map[notification.Channel]RecipientDelivery{}
		}
		for _, d := range found {
			for _, r := range detail.Recipients {
				if r.UserType == d.UserType && r.UserID == d.UserID {
					r.Deliveries[d.Channel] = d.RecipientDelivery
				}
			}
		}
		return err
	})
}
