package attempt

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
)

// DigestPlace reads the digest that a delivery belongs to. If the delivery does not exist,
// the error is [notification.ErrNoDelivery].
func (s Store) DigestPlace(ctx context.Context, deliveryID string) (notification.DigestPlace, error) {
	const query = `
		SELECT n.status,
		       CASE WHEN n.status = 'FAILED' THEN n.last_error ELSE '' END AS problem,
		       n.user_type AS key_user_type, n.user_id AS key_user_id, n.channel AS key_channel, n.event_type AS key_event_type,
		       u.who,
		       n.priority,
		       coalesce(r.digest_window, '5 minutes') AS window,
		       CASE WHEN n.operator_time IS NOT NULL THEN n.next_attempt_at
		            WHEN r.digest_first OR r.digest_at IS NOT NULL THEN n.send_after END AS due,
		       n.operator_time IS NOT DISTINCT FROM 'NOW' AS hastened,
		       r.digest_at IS NOT NULL AS timed
		FROM   notification n
		JOIN   user_type u USING (user_type)
		LEFT JOIN event_type_channel_routing r ON r.event_type = n.event_type AND r.channel_type = n.channel
		WHERE  n.delivery_id = $1`

	return db.OneDelivery[notification.DigestPlace](ctx, s.Pool, "read place in digest", query, deliveryID)
}

// SealDigest decides which deliveries a digest lists: the oldest deliveries that wait for a
// digest of its kind, as many as fit. From then on they belong to this digest. A repeat
// returns them again, and adds newer deliveries if they fit too.
//
// It takes over deliveries that another digest sealed. Only one digest of a kind runs at a
// time, so the other digest has died.
func (s Store) SealDigest(ctx context.Context, in notification.Sealing) (sealed notification.SealedDigest, err error) {
	err = pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		candidates, next, err := sealCandidates(ctx, tx, in)
		if err != nil {
			return err
		}
		var found notification.Digest
		batch := &pgx.Batch{}
		queueDigestTexts(batch, in.Key, &found)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		held := mostThatFit(candidates, func(items []notification.DigestItem) bool { return in.Fits(found, items) })
		var rest []int64
		for _, one := range candidates[held:] {
			rest = append(rest, one.ID)
			if next.IsZero() || one.Due.Before(next) {
				next = one.Due
			}
		}
		if len(rest) > 0 {
			_, err = tx.Exec(ctx, "UPDATE notification SET digest_id = NULL WHERE id = ANY ($1)", rest)
		}
		sealed = notification.SealedDigest{Items: []string{}, Next: next}
		for _, item := range inOrder(candidates[:held]) {
			sealed.Items = append(sealed.Items, item.DeliveryID)
		}
		return err
	})
	return sealed, db.Wrap(err, "seal digest")
}

// mostSealedBytes limits the texts that a digest may list. A text has up to 64 KiB.
const mostSealedBytes = 48 << 10

// sealCandidate is a delivery that a digest may list.
type sealCandidate struct {
	ID  int64
	Due time.Time // end of its window
	notification.DigestItem
}

// sealCandidates seals the deliveries that may fit, and returns them. Deliveries that the digest sealed
// before come first. next is the end of the window of the remaining deliveries; zero: none remain.
func sealCandidates(ctx context.Context, tx pgx.Tx, in notification.Sealing) (found []sealCandidate, next time.Time, err error) {
	const query = `
		WITH candidate AS MATERIALIZED (
			SELECT n.id, octet_length(n.title) + octet_length(n.body) AS bytes, c.due, c.ready, c.mine
			FROM  (SELECT id,
			              coalesce(CASE WHEN $9 THEN send_after END, created_at + $8::interval) AS due,
			              NOT $10 OR coalesce(send_after <= now(), true) AS ready,
			              digest_id IS NOT DISTINCT FROM $1 AS mine -- stays so, even if an older delivery commits late
			       FROM   notification
			       WHERE  user_type = $2
			       AND    user_id = $3
			       AND    channel = $4
			       AND    event_type = $5
			       AND    strategy = 'AGGREGATE'
			       AND    status = 'PENDING'
			       ORDER BY mine DESC, ready DESC, id
			       LIMIT  $6 + 1) AS c
			JOIN   notification n ON n.id = c.id
			WHERE  n.status = 'PENDING'
			ORDER BY n.id
			FOR UPDATE OF n
		), measured AS (
			SELECT c.*, row_number() OVER w AS place, sum(bytes) OVER w AS total
			FROM   candidate c
			WINDOW w AS (ORDER BY mine DESC, ready DESC, id)
		), sealed AS (
			UPDATE notification n
			SET    digest_id = $1
			FROM   measured m
			WHERE  n.id = m.id
			AND    (m.mine OR m.ready)
			AND    (m.place = 1 OR (m.place <= $6 AND m.total <= $7))
			RETURNING n.id, n.delivery_id, n.event_id, n.title, n.body, n.created_at, m.due, m.place, n.entity_type, n.entity_id, n.member_role
		)
		SELECT (SELECT min(due) FROM measured WHERE id NOT IN (SELECT id FROM sealed)) AS next,
		       coalesce(n.id, 0) AS id,
		       coalesce(n.delivery_id, '') AS delivery_id,
		       coalesce(n.event_id, '') AS event_id,
		       coalesce(n.title, '') AS title,
		       coalesce(n.body, '') AS body,
		       n.created_at,
		       coalesce(n.entity_type, '') AS entity_type,
		       coalesce(n.entity_id, '') AS entity_id,
		       coalesce(n.member_role, '') AS member_role,
		       ` + db.EntityName + ` AS entity_name,
		       n.due
		FROM   (VALUES (1)) AS always
		LEFT JOIN sealed n ON true
		ORDER BY n.place`

	type row struct {
		Next time.Time
		sealCandidate
	}
	key, window := in.Key, in.Window
	rows, err := db.Collect(ctx, tx, "seal digest", db.ByName[row](), query, in.DigestID, key.UserType, key.UserID, key.Channel, key.EventType,
		notification.MaxDigestItems, mostSealedBytes, window.Length, window.Timed, window.ReadyOnly)
	for _, row := range rows {
		if next = row.Next; row.ID != 0 {
			found = append(found, row.sealCandidate)
		}
	}
	return found, next, err
}

// mostThatFit returns how many of the first candidates fit into one message. One is listed even if it
// does not fit: it would not fit into another message either.
func mostThatFit(candidates []sealCandidate, fits func([]notification.DigestItem) bool) int {
	if len(candidates) < 2 || fits(inOrder(candidates)) {
		return len(candidates)
	}
	return 1 + sort.Search(len(candidates)-2, func(n int) bool { return !fits(inOrder(candidates[:n+2])) })
}

// inOrder returns the items in the order of a digest: by id.
func inOrder(candidates []sealCandidate) []notification.DigestItem {
	sorted := slices.SortedFunc(slices.Values(candidates), func(a, b sealCandidate) int { return cmp.Compare(a.ID, b.ID) })
	items := make([]notification.DigestItem, len(sorted))
	for i, one := range sorted {
		items[i] = one.DigestItem
	}
	return items
}

// GiveUpDigest ends the items of a digest that will not be sent, as FAILED or CANCELLED.
// Items that ended before stay as they are. It returns, by delivery id, why the rules
// dropped items.
func (s Store) GiveUpDigest(ctx context.Context, digestID string, status notification.Status, reason string) (map[string]string, error) {
	const query = `
		UPDATE notification
		SET    status       = $2,
		       last_error   = $3,
		       available_at = CASE WHEN $2 = 'FAILED' AND attempt_count > 0 THEN coalesce(available_at, now()) ELSE available_at END
		WHERE  id = ANY (ARRAY (
			SELECT id
			FROM   notification
			WHERE  digest_id = $1
			AND    status = 'PENDING'
			ORDER BY id
			FOR UPDATE))`

	var found notification.Digest
	batch := &pgx.Batch{}
	queueEndedItems(batch, digestID, &found)
	batch.Queue(query, digestID, status, reason)
	err := s.Pool.SendBatch(ctx, batch).Close()
	return found.Dropped, db.Wrap(err, "give up digest")
}

// DigestItems reads the deliveries that a digest must still list, in order.
func (s Store) DigestItems(ctx context.Context, digestID string) ([]string, error) {
	const query = `
		SELECT delivery_id
		FROM   notification
		WHERE  digest_id = $1
		AND    status = 'PENDING'
		ORDER BY id
		LIMIT  $2`

	return db.Collect(ctx, s.Pool, "read the items of a digest", pgx.RowTo[string], query, digestID, notification.MaxDigestItems)
}

// ReadDigest reads how the other items of a digest ended, and the locale and templates for
// its text. It needs one round trip.
func (s Store) ReadDigest(ctx context.Context, digestID string, key notification.DigestKey) (notification.Digest, error) {
	var found notification.Digest
	batch := &pgx.Batch{}
	queueEndedItems(batch, digestID, &found)
	queueDigestTexts(batch, key, &found)
	return found, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "read digest")
}

// queueDigestTexts reads what a digest's text needs, apart from its items.
func queueDigestTexts(batch *pgx.Batch, key notification.DigestKey, into *notification.Digest) {
	const recipient = `
		SELECT r.user_type, r.user_id, coalesce(r.name, '') AS name, coalesce(r.locale, '') AS locale, ` + planner.AddressFacts + `
		FROM   ` + db.DirectoryRecipient + ` r
		WHERE  r.user_type = $1
		AND    r.user_id = $2
		LIMIT  1`
	templates := `
		SELECT t.event_type, t.channel, t.locale, t.title, t.body, coalesce(t.url, '') AS url,
		       ` + db.LayoutFacts("$1") + `
		FROM   notification_template t
		WHERE  t.event_type IN ('digest', $1 || '.digest')
		LIMIT  $2`

	into.Recipient = notification.Recipient{UserType: key.UserType, UserID: key.UserID}
	batch.Queue(recipient, key.UserType, key.UserID).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectOneRow(rows, db.ByName[notification.Recipient]())
		if err == nil {
			into.Recipient = found
		}
		return db.IgnoreNoRows(err)
	})
	db.QueueInto(batch, &into.Templates, pgx.RowToStructByName, templates, key.EventType, db.MaxRowsPerEventType)
}

// queueEndedItems reads which items an earlier attempt sent, and which items the rules
// dropped.
func queueEndedItems(batch *pgx.Batch, digestID string, into *notification.Digest) {
	const query = `
		SELECT delivery_id, status <> 'CANCELLED', coalesce(last_error, '')
		FROM   notification
		WHERE  digest_id = $1
		AND    (status IN ('SENT', 'DELIVERED', 'CANCELLED') OR receipt_failed)`

	var id, reason string
	var sent bool
	db.QueueEach(batch, []any{&id, &sent, &reason}, func() {
		if sent {
			into.Sent++
			return
		}
		if into.Dropped == nil {
			into.Dropped = map[string]string{}
		}
		into.Dropped[id] = reason
	}, query, digestID)
}
