package attempt

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/planner"
)

// countedRow is a row of counted_message.
type countedRow struct {
	notification.CountedMessage
	Waits   bool
	Dropped bool // a cap drops it, so it is not stored
	Place   int64
}

// countMessages asks the caps about messages whose leases were just taken. A message over a limit
// loses its lease, and becomes CANCELLED or waits. If the caps cannot be asked, no attempt begins: the
// caller gives the leases back.
//
// # Overview
//
// A cap limits the messages that one person gets over one channel. It is asked twice. The planner
// reads the counted messages without a lock, and drops a message without room
// ([planner.Store.ReadCounted]). Two events can plan at once, so only the attempt decides exactly:
//
//  1. It locks the person and the channel. The locks are taken in one order, so there is no deadlock.
//  2. A second statement reads the caps, the clock and the counted messages. It sees all counts that
//     were committed before the lock.
//  3. It stores each message that is sent or waits in counted_message, and commits. A message that is
//     dropped is not stored. Mandatory and ordered messages are never held, but they count.
//  4. Then it gives back the leases of messages that are held.
//
// A message has one row, however often it is tried, so a crash between two steps counts nothing twice.
// A message that ended unsent no longer counts. Waiting messages keep their place: a later message sees
// them as counted, so it cannot overtake them. A wait ends, because counted messages leave the window.
func (s Store) countMessages(ctx context.Context, in notification.Begin, channels map[string]notification.Channel, begun attempts) error {
	messages := map[string]toCount{}
	for id, channel := range channels {
		switch attempt := begun[id]; {
		case attempt.WasBegun():
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
		       FROM   ` + planner.CountedKeys + `
		       ORDER BY slot) AS ordered`

// readCaps reads what the caps need: the time, the caps and the counted messages.
const readCaps = `
		SELECT clock_timestamp(),
		       (SELECT coalesce(jsonb_agg(` + planner.CapFacts + `), '[]') FROM (SELECT * FROM frequency_cap LIMIT $3) f),
		       ARRAY (` + planner.SelectCounted + `)`

// count counts messages in a transaction, and returns the attempts that the caps stop.
func count(ctx context.Context, tx pgx.Tx, in notification.Begin, messages map[string]toCount) (held []notification.Attempt, err error) {
	var keys []countedRow
	for id, message := range messages {
		m := message.items[0].Message
		row := countedRow{CountedMessage: planner.CountedKey(m.UserType, m.UserID, message.channel)}
		row.MessageID, row.Category = id, m.Category
		keys = append(keys, row)
	}
	slices.SortFunc(keys, func(a, b countedRow) int { return cmp.Compare(a.MessageID, b.MessageID) })

	var now time.Time
	var caps notification.Caps
	var counted []countedRow
	batch := &pgx.Batch{}
	batch.Queue(lockCounted, keys)
	batch.Queue(readCaps, keys, notification.MaxCounted, db.MaxRowsPerEventType).QueryRow(func(row pgx.Row) error {
		return row.Scan(&now, &caps, &counted)
	})
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
		FROM   jsonb_to_recordset($1) AS k ("MessageID" text, "UserType" text, "UserID" text, "Channel" text, "Category" text, "At" timestamptz,
		       "Waits" boolean, "Dropped" boolean)
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
