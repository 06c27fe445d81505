package event

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/attempt"
	"herald/internal/cancel"
	"herald/internal/db"
	"herald/internal/notification"
)

// cancelPending cancels the waiting deliveries of an event, when its workflow has ended or never
// starts. If it is interrupted, a repeat cancels the rest.
func (s Store) cancelPending(ctx context.Context, eventID string, reason notification.EndReason) error {
	lanes, err := attempt.On(s.DB).Lanes(ctx, eventID)
	for _, lane := range lanes {
		part := notification.Part{EventID: eventID, Lane: lane}
		for next := int64(1); err == nil && next > 0; part.IDs.First = next {
			_, next, err = s.CancelPart(ctx, part, reason, cancel.Chunk)
		}
	}
	return err
}

// CancelPart cancels the first waiting deliveries of a part of an event, up to limit; see
// [cancel.Store.Cancel].
func (s Store) CancelPart(
	ctx context.Context, part notification.Part, reason notification.EndReason, limit int,
) (cancelled int, next int64, err error) {
	return cancel.On(s.DB).Cancel(ctx, cancel.Cancellation{
		Which: attempt.InPart + " AND " + db.Undelivered, Args: attempt.PartArgs(part), Reason: string(reason), Limit: limit,
	})
}

// MayCancel reports whether the event `by` may cancel an event now. With cancels_types it cancels
// only a known event of one of these types. A later event finds its [db.Canceller] when it is planned.
func (s Store) MayCancel(ctx context.Context, by, eventID string) (bool, error) {
	const query = `
		SELECT coalesce((SELECT y.cancels_types IS NULL
		                        OR coalesce((SELECT o.event_type FROM event_outbox o WHERE o.event_id = $2),
		                                    (SELECT n.event_type FROM notification n WHERE n.event_id = $2 LIMIT 1)) = ANY (y.cancels_types)
		                 FROM   event_outbox y
		                 WHERE  y.event_id = $1), false)`

	return db.One(ctx, s.Pool, "read the types that an event cancels", pgx.RowTo[bool], query, by, eventID)
}
