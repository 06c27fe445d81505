package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

const (
	// capFacts is a row f of frequency_cap as a [notification.Cap].
	capFacts = `jsonb_build_object(
	           'Channel', f.channel_type,
	           'Category', coalesce(f.category, ''),
	           'AtMost', coalesce(f.at_most, 0),
	           'Per', coalesce((extract(epoch FROM f.per) * 1e9)::bigint, 0),
	           'Spacing', coalesce((extract(epoch FROM f.spacing) * 1e9)::bigint, 0),
	           'Defers', f.action = 'DEFER')`

	// hasCap reports whether a cap limits the channel of the delivery n.
	hasCap = `EXISTS (SELECT FROM frequency_cap f WHERE f.channel_type = n.channel)`

	// countedKeys are the elements of $1 as rows k.
	countedKeys = `jsonb_to_recordset($1) AS k ("UserType" text, "UserID" text, "Channel" text)`

	// longestCap is the time for which the caps of the channel of k count a message.
	longestCap = `(SELECT max(greatest(f.per, f.spacing)) FROM frequency_cap f WHERE f.channel_type = k."Channel")`

	// selectCounted reads the counted messages of the recipients and channels of $1. A message whose
	// deliveries all ended unsent does not count: one delivery, or the items of a digest. Nor does a digest
	// whose items have all left it. $2 limits the messages of each.
	selectCounted = `
		SELECT jsonb_build_object('UserType', c.user_type, 'UserID', c.user_id, 'Channel', c.channel_type, 'MessageID', c.message_id, 'Category', c.category,
		           'At', c.at, 'Waits', c.waits, 'Place', c.place)
		FROM   ` + countedKeys + `
		CROSS JOIN LATERAL (
		       SELECT *
		       FROM   counted_message m
		       WHERE  (m.user_type, m.user_id, m.channel_type) = (k."UserType", k."UserID", k."Channel")
		       AND    m.at > clock_timestamp() - ` + longestCap + `
		       AND    EXISTS (
		              SELECT FROM notification n
		              WHERE  m.message_id IN (n.delivery_id, n.digest_id)
		              AND    (n.status NOT IN ('FAILED', 'CANCELLED') OR n.sent_at IS NOT NULL))
		       ORDER BY m.at
		       LIMIT  $2
		) c`
)

// countedRow is a row of counted_message.
type countedRow struct {
	notification.CountedMessage
	Waits   bool
	Dropped bool // a cap drops it, so it is not stored
	Place   int64
}

// countedKey returns the part of a message that selectCounted reads.
func countedKey(userType notification.UserType, userID string, channel notification.Channel) notification.CountedMessage {
	return notification.CountedMessage{RecipientKey: notification.RecipientKey{UserType: userType, UserID: userID}, Channel: channel}
}

// ReadCounted adds to each person their messages that the caps count.
func (s *Store) ReadCounted(ctx context.Context, caps notification.Caps, people []notification.Recipient) error {
	var keys []notification.CountedMessage
	for _, channel := range caps.Channels() {
		for _, person := range people {
			keys = append(keys, countedKey(person.UserType, person.UserID, channel))
		}
	}
	counted, err := Collect(ctx, s.Pool, "read counted messages", pgx.RowTo[notification.CountedMessage], selectCounted, keys, notification.MaxCounted)
	notification.AddCounted(people, counted)
	return err
}

// countMessages asks the caps about messages whose leases were just taken. It counts messages that
// may be sent, and messages that wait for room. It locks the recipients meanwhile, so the count is
// exact, however many workers send. A message over a limit loses its lease, and becomes CANCELLED or waits. If
// the caps cannot be asked, no attempt begins: the caller gives the leases back.
func (s *Store) countMessages(ctx context.Context, in notification.Begin, channels map[string]notification.Channel, begun attempts) error {
	messages := map[string]toCount{}
	for id, channel := range channels {
		switch attempt := begun[id]; {
		case attempt.Number > 0:
			message := cmp.Or(in.DigestID, id)
			messages[message] = toCount{channel, append(messages[message].items, attempt)}
		case in.DigestID != "" && !attempt.NotBefore.IsZero():
			return nil // the whole digest waits
		}
	}
	if len(messages) == 0 {
		return nil
	}
	var held []notification.Attempt
	// Each statement has to see what others committed before it got the locks.
	err := pgx.BeginTxFunc(ctx, s.Pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) (err error) {
		held, err = count(ctx, tx, in, messages)
		return err
	})
	if err == nil {
		err = s.settle(ctx, held, nil)
	}
	if err != nil {
		return err
	}
	for _, attempt := range held {
		begun[attempt.Message.DeliveryID] = heldBack(attempt)
	}
	return nil
}

// toCount is a message to count.
type toCount struct {
	channel notification.Channel
	items   []notification.Attempt // one delivery, or the items of a digest
}

// lockCounted locks recipients and channels. The locks are advisory and of a fixed number, so that
// many recipients do not exhaust the server's locks.
const lockCounted = `
		SELECT pg_advisory_xact_lock(hashtext('herald counted ' || current_schema()), slot)
		FROM  (SELECT DISTINCT hashtext(concat_ws('/', k."Channel", k."UserType", k."UserID")) & 255 AS slot
		       FROM   ` + countedKeys + `
		       ORDER BY slot) AS ordered`

// readCaps reads what the caps need: the time, the caps and the counted messages.
const readCaps = `
		SELECT clock_timestamp(),
		       (SELECT coalesce(jsonb_agg(` + capFacts + `), '[]') FROM (SELECT * FROM frequency_cap LIMIT $3) f),
		       ARRAY (` + selectCounted + `)`

// count counts messages in a transaction, and returns the attempts that the caps stop.
func count(ctx context.Context, tx pgx.Tx, in notification.Begin, messages map[string]toCount) (held []notification.Attempt, err error) {
	var keys []countedRow
	for id, message := range messages {
		m := message.items[0].Message
		row := countedRow{CountedMessage: countedKey(m.UserType, m.UserID, message.channel)}
		row.MessageID, row.Category = id, m.Category
		keys = append(keys, row)
	}
	slices.SortFunc(keys, func(a, b countedRow) int { return cmp.Compare(a.MessageID, b.MessageID) })

	var now time.Time
	var caps notification.Caps
	var counted []countedRow
	batch := &pgx.Batch{}
	batch.Queue(lockCounted, keys)
	batch.Queue(readCaps, keys, notification.MaxCounted, MaxRowsPerEventType).QueryRow(func(row pgx.Row) error { return row.Scan(&now, &caps, &counted) })
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return nil, err
	}
	for i := range keys {
		row, items := &keys[i], messages[keys[i].MessageID].items
		room := notification.Room{}
		if items[0].Message.Optional && !in.Ordered {
			room = caps.Of(row.Channel).Room(row.others(counted), row.Category, now)
		}
		row.At, row.Waits, row.Dropped = now, !room.At.IsZero(), room.Dropped
		if row.Waits {
			row.At = room.At
		}
		for _, attempt := range items {
			if attempt.Verdict = room.Verdict().Until(attempt.Message.ExpiresAt); attempt.Held() {
				held = append(held, attempt)
			}
		}
		if !room.Dropped {
			counted = append(counted, *row)
		}
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO counted_message AS c (message_id, user_type, user_id, channel_type, category, at, waits)
		SELECT "MessageID", "UserType", "UserID", "Channel", "Category", "At", "Waits"
		FROM   jsonb_to_recordset($1) AS k ("MessageID" text, "UserType" text, "UserID" text, "Channel" text, "Category" text, "At" timestamptz, "Waits" boolean, "Dropped" boolean)
		WHERE  NOT "Dropped"
		ON CONFLICT (message_id) DO UPDATE
		SET    at = excluded.at, waits = excluded.waits, category = excluded.category`, keys)
	return held, err
}

// others returns the counted messages that come before this one. A message that was tried comes
// before all waiting messages. A waiting message keeps its place.
func (r countedRow) others(counted []countedRow) []notification.CountedMessage {
	own := slices.IndexFunc(counted, func(c countedRow) bool { return c.MessageID == r.MessageID })
	var others []notification.CountedMessage
	for i, c := range counted {
		before := own < 0 || !c.Waits || counted[own].Waits && c.Place < counted[own].Place
		if i != own && c.RecipientKey == r.RecipientKey && c.Channel == r.Channel && before {
			others = append(others, c.CountedMessage)
		}
	}
	return others
}

// DeleteCounted deletes up to limit messages that no cap counts any more, and returns their number.
func (s *Store) DeleteCounted(ctx context.Context, limit int) (int, error) {
	const query = `
		DELETE FROM counted_message
		WHERE  message_id IN (
		           SELECT k.message_id
		           FROM   counted_message k
		           WHERE  k.at < now() - coalesce((SELECT max(greatest(f.per, f.spacing)) FROM frequency_cap f), '0') - interval '1 minute'
		           ORDER BY k.at
		           LIMIT  $1
		           FOR UPDATE SKIP LOCKED)`

	tag, err := s.Pool.Exec(ctx, query, limit)
	return int(tag.RowsAffected()), Wrap(err, "delete counted messages")
}
