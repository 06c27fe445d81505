package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// BeginAttempts begins first attempts at deliveries of a batch, as [Store.BeginAttempt]
// does, and returns one attempt per id, in their order. It begins what is PENDING, was never
// attempted and is not retried by an operator, whose run sends it: two that begin the same
// batch begin each delivery once. One that it did not begin has no Number: its status says
// why, or the reason for which the rules have dropped it, and it is CANCELLED by now. A
// delivery that does not exist has no status; nor have those that were still to be judged
// when the database failed, if others were begun.
//
// A group of deliveries that were planned within a minute takes one statement, however many
// they are. The others, and those whose event another one cancels, take three more.
func (s *Store) BeginAttempts(ctx context.Context, in notification.BeginBatch) ([]notification.Attempt, error) {
	begun, err := s.beginFresh(ctx, in)
	if err != nil {
		return nil, wrap(err, "begin attempts")
	}
	var rest []string
	for _, id := range in.DeliveryIDs {
		if begun[id].Number == 0 {
			rest = append(rest, id)
		}
	}
	if len(rest) > 0 {
		err := s.beginJudged(ctx, rest, in.Batch, begun)
		switch {
		case err != nil && len(rest) == len(in.DeliveryIDs):
			return nil, wrap(err, "begin attempts")
		case err != nil: // what the first statement has begun is to be sent
			maps.DeleteFunc(begun, func(id string, _ notification.Attempt) bool { return slices.Contains(rest, id) })
		}
	}
	attempts := make([]notification.Attempt, len(in.DeliveryIDs))
	for i, id := range in.DeliveryIDs {
		attempts[i] = begun[id]
	}
	return attempts, nil
}

// attempts are those at the deliveries of a group, by id.
type attempts map[string]notification.Attempt

// beginFirst begins first attempts at the deliveries $1. $3 says whether they were judged:
// then they go to the addresses $2; else they must have been planned within a minute, and no
// event may cancel their own. The rows are locked in the order of all that locks several.
// The planner cannot see how many they are, and keeps its plan; nor which status they have,
// so that it goes by the ids: it would read all that are PENDING where it knows of none.
const beginFirst = `
		WITH due AS (
			SELECT n.id, i.address
			FROM   unnest((SELECT $1::text[]), $2::text[]) AS i (delivery_id, address)
			JOIN   notification n USING (delivery_id)
			WHERE  n.status = (SELECT 'PENDING')
			AND    n.attempt_count = 0
			AND    NOT EXISTS (SELECT FROM delivery_retry r WHERE r.delivery_id = n.delivery_id)
			AND    ($3 OR (n.created_at > now() - interval '1 minute' AND ` + canceller + ` IS NULL))
			ORDER BY n.id
			FOR UPDATE OF n
		), begun AS (
			UPDATE notification n
			SET    attempt_count     = 1,
			       recipient_address = CASE WHEN $3 THEN nullif(d.address, '') ELSE n.recipient_address END
			FROM   due d
			WHERE  n.id = d.id
			RETURNING n.*
		), attempt AS (
			INSERT INTO delivery_attempt (delivery_id, attempt, batch)
			SELECT delivery_id, 1, $4
			FROM   begun
		)
		SELECT n.status, n.attempt_count, ` + messageFacts + `
		` + messageOf

func (s *Store) beginFresh(ctx context.Context, in notification.BeginBatch) (attempts, error) {
	begun := make(attempts, len(in.DeliveryIDs))
	rows, err := s.Pool.Query(ctx, beginFirst, in.DeliveryIDs, make([]string, len(in.DeliveryIDs)), false, in.Batch, maxDevices)
	if err != nil {
		return nil, err
	}
	return begun, begun.read(rows)
}

// read reads what a statement has begun.
func (a attempts) read(rows pgx.Rows) error {
	for rows.Next() {
		begun := notification.Attempt{Tried: notification.Tried{Begun: 1}}
		fields := []any{&begun.Status, &begun.Number}
		if err := rows.Scan(append(fields, messageFields(&begun)...)...); err != nil {
			return err
		}
		a[begun.Message.DeliveryID] = begun
	}
	return rows.Err()
}

// beginJudged asks for all that may have changed since deliveries were planned, cancels
// what the rules do not allow any more, and begins the rest. Both statements heed only what
// was never attempted, since others may have been quicker.
func (s *Store) beginJudged(ctx context.Context, ids []string, number int, begun attempts) error {
	const cancel = `
		UPDATE notification n
		SET    status     = 'CANCELLED',
		       last_error = d.reason
		FROM  (SELECT n.id, i.reason
		       FROM   unnest((SELECT $1::text[]), $2::text[]) AS i (delivery_id, reason)
		       JOIN   notification n USING (delivery_id)
		       WHERE  n.status = (SELECT 'PENDING')
		       AND    n.attempt_count = 0
		       ORDER BY n.id
		       FOR UPDATE OF n) AS d
		WHERE  n.id = d.id
		RETURNING n.delivery_id, n.last_error`

	found, err := readAttemptFacts(ctx, s.Pool, "n.delivery_id = ANY ($1)", ids)
	if err != nil {
		return err
	}
	people := make([]*notification.Recipient, len(found))
	for i := range found {
		people[i] = &found[i].Recipient
	}
	if err := s.readSuppressions(ctx, s.Pool, people); err != nil {
		return err
	}
	judged := begun.judge(found)
	batch := &pgx.Batch{}
	if len(judged.dropped) > 0 {
		batch.Queue(cancel, judged.dropped, judged.reasons).Query(begun.readDropped)
	}
	batch.Queue(beginFirst, judged.allowed, judged.addresses, true, number, maxDevices).Query(begun.read)
	return s.Pool.SendBatch(ctx, batch).Close()
}

// judged is what the rules say of a group of deliveries.
type judged struct {
	dropped, reasons   []string
	allowed, addresses []string
}

// judge asks the rules, and notes the status of each delivery.
func (a attempts) judge(found []attemptFacts) judged {
	var j judged
	for _, f := range found {
		attempt := notification.Attempt{Status: f.status, ReceiptFailed: f.receiptFailed}
		a[f.DeliveryID] = attempt
		if f.status != notification.Pending {
			continue
		}
		if verdict := f.Judge(f.now); verdict.Dropped != "" {
			j.dropped, j.reasons = append(j.dropped, f.DeliveryID), append(j.reasons, verdict.Dropped)
		} else {
			j.allowed, j.addresses = append(j.allowed, f.DeliveryID), append(j.addresses, f.Recipient.Address(f.Channel))
		}
	}
	return j
}

func (a attempts) readDropped(rows pgx.Rows) error {
	var id, reason string
	_, err := pgx.ForEachRow(rows, []any{&id, &reason}, func() error {
		a[id] = notification.Attempt{Status: notification.Cancelled, Verdict: notification.Verdict{Dropped: reason}}
		return nil
	})
	return err
}
