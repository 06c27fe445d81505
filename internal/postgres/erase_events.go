package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/notification"
)

// PersonalEvents reads the ids of events about which the rules decided for a person, or that have
// deliveries to them: the first 500 after an id.
func (s *Store) PersonalEvents(ctx context.Context, who notification.RecipientKey, after string) ([]string, error) {
	const query = `
		SELECT d.event_id FROM notification_decision d WHERE d.user_type = $1 AND d.user_id = $2 AND d.event_id > $3
		UNION
		SELECT n.event_id FROM notification n WHERE n.user_type = $1 AND n.user_id = $2 AND n.event_id > $3
		ORDER BY event_id
		LIMIT 500`

	return Collect(ctx, s.Pool, "read the events of a recipient", pgx.RowTo[string], query, who.UserType, who.UserID, after)
}

// EventPlace is a place in event_outbox, in the order of creation.
type EventPlace struct {
	CreatedAt time.Time
	Seq       int64
}

// EventsAbout reads the next 5000 events, and returns the ids of events whose aggregate is the
// person, without the events of [Store.PersonalEvents]. ADMIN and BROADCAST are aggregates of many
// people. next is the place to read on after; nil: that was all.
func (s *Store) EventsAbout(ctx context.Context, who notification.RecipientKey, after EventPlace) (ids []string, next *EventPlace, err error) {
	const query = `
		WITH page AS (
			SELECT event_id, aggregate_type, aggregate_id, created_at, seq
			FROM   event_outbox
			WHERE  (created_at, seq) > ($3, $4)
			ORDER BY created_at, seq
			LIMIT  5000
		)
		SELECT created_at, seq, ARRAY (
			SELECT p.event_id
			FROM   page p
			WHERE  p.aggregate_type = $1
			AND    p.aggregate_id = $2
			AND    p.aggregate_type NOT IN ('ADMIN', 'BROADCAST')
			AND    NOT EXISTS (SELECT FROM notification_decision d WHERE (d.event_id, d.user_type, d.user_id) = (p.event_id, $1, $2))
			AND    NOT EXISTS (SELECT FROM notification n WHERE (n.event_id, n.user_type, n.user_id) = (p.event_id, $1, $2)))
		FROM   page
		ORDER BY created_at DESC, seq DESC
		LIMIT  1`

	var last EventPlace
	err = Each(ctx, s.Pool, "read the events about a recipient", []any{&last.CreatedAt, &last.Seq, &ids}, func() { next = &last },
		query, who.UserType, who.UserID, after.CreatedAt, after.Seq)
	return ids, next, err
}

// ErasedEvents are the results for events that concern a person.
type ErasedEvents struct {
	Erased int      // payloads that were only about the person
	Open   []string // events that have not ended, which keep their payload until a later run
	Shared []string // events that told other people too, which keep their payload
}

// onlyTheirs reports whether the rules decided about an event t for nobody else.
const onlyTheirs = `NOT EXISTS (SELECT FROM notification_decision d WHERE d.event_id = t.event_id AND (d.user_type, d.user_id) <> ($1, $2))
		AND    NOT EXISTS (SELECT FROM notification n WHERE n.event_id = t.event_id AND (n.user_type, n.user_id) <> ($1, $2))`

// EraseEvents empties the payloads of events that have ended and were only about a person.
func (s *Store) EraseEvents(ctx context.Context, who notification.RecipientKey, ids []string) (ErasedEvents, error) {
	const erase = `
		UPDATE event_outbox t
		SET    payload = '{}'
		WHERE  t.event_id = ANY ($3)
		AND    t.payload <> '{}'
		AND    t.status = 'PROCESSED'
		AND    (SELECT p.status FROM processed_event p WHERE p.event_id = t.event_id) IS DISTINCT FROM 'PROCESSING'
		AND    ` + notUnproduced + `
		AND    ` + onlyTheirs
	const kept = `
		SELECT t.event_id, ` + onlyTheirs + `
		FROM   event_outbox t
		WHERE  t.event_id = ANY ($3)
		AND    t.payload <> '{}'
		ORDER BY t.event_id`

	var done ErasedEvents
	batch := &pgx.Batch{}
	batch.Queue(erase, who.UserType, who.UserID, ids).Exec(func(tag pgconn.CommandTag) error {
		done.Erased = int(tag.RowsAffected())
		return nil
	})
	var id string
	var open bool
	QueueEach(batch, []any{&id, &open}, func() {
		if open {
			done.Open = append(done.Open, id)
		} else {
			done.Shared = append(done.Shared, id)
		}
	}, kept, who.UserType, who.UserID, ids)
	return done, Wrap(s.Pool.SendBatch(ctx, batch).Close(), "erase events")
}
