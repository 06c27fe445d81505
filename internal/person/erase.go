package person

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/db"
	"herald/internal/notification"
)

var (
	// directoryTables may be views over an application's tables, where Herald deletes nothing.
	directoryTables = []string{"recipient_device", "entity_member", "recipient"}
	heraldsTables   = []string{
		"user_notification_preferences", "user_category_preferences", "user_settings", "entity_follow", "entity_mute", "preference_change",
		"gateway_ticket", "throttle", "counted_message",
	}
	// personalTables are the tables whose rows belong to one person as a whole, in the order of
	// deletion: triggers on settings write preference_change.
	personalTables = slices.Concat(directoryTables, heraldsTables)
)

// DeliveryTable is the table whose rows stay, without text and address.
const DeliveryTable = "notification"

// PersonalRows are the rows of one table about a person.
type PersonalRows struct {
	Table string `json:"table"`
	Rows  int    `json:"rows"`
	View  bool   `json:"view,omitempty"` // a view of the application: only the application can delete the rows
}

// CountPersonal counts the rows about a person, each table up to limit: the tables whose rows belong
// to one person, and the deliveries to erase.
func (s Store) CountPersonal(ctx context.Context, who notification.RecipientKey, limit int) ([]PersonalRows, error) {
	conditions := map[string]string{DeliveryTable: " AND " + toErase}
	tables := append(slices.Clone(personalTables), DeliveryTable)
	return s.countRows(ctx, tables, func(one PersonalRows) string {
		return "n.user_type::text = $1 AND n.user_id::text = $2" + conditions[one.Table]
	}, who.UserType, who.UserID, limit)
}

// countRows counts the rows n of tables that meet the condition of their table. The last argument
// limits each count.
func (s Store) countRows(ctx context.Context, tables []string, condition func(PersonalRows) string, args ...any) ([]PersonalRows, error) {
	foreign, err := s.foreignTables(ctx)
	if err != nil {
		return nil, err
	}
	counts := make([]PersonalRows, len(tables))
	batch := &pgx.Batch{}
	for i, table := range tables {
		counts[i] = PersonalRows{Table: table, View: slices.Contains(foreign, table)}
		query := fmt.Sprintf("SELECT count(*) FROM (SELECT FROM %s n WHERE %s LIMIT $%d) AS found", table, condition(counts[i]), len(args))
		batch.Queue(query, args...).QueryRow(func(row pgx.Row) error { return row.Scan(&counts[i].Rows) })
	}
	return counts, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "count the rows about a recipient")
}

// foreignTables returns the tables of the directory that are views of an application.
func (s Store) foreignTables(ctx context.Context) ([]string, error) {
	const query = "SELECT relname::text FROM pg_class WHERE oid = ANY (SELECT to_regclass(t) FROM unnest($1::text[]) AS t) AND relkind NOT " +
		"IN ('r', 'p')"

	return db.Collect(ctx, s.Pool, "read the relations of the directory", pgx.RowTo[string], query, directoryTables)
}

// ErasedAt returns when the first erasure of a person began; nil: never.
func (s Store) ErasedAt(ctx context.Context, who notification.RecipientKey) (*time.Time, error) {
	const query = "SELECT (SELECT erased_at FROM erased_recipient WHERE user_type = $1 AND user_id = $2)"

	return db.One(ctx, s.Pool, "read whether a recipient was erased", pgx.RowTo[*time.Time], query, who.UserType, who.UserID)
}

// MarkErased records that Herald sends people nothing more, and stores nothing more about them. Then
// it waits for running transactions that write rows about people, because they may not see the mark.
// It does not wait for an application that writes the directory.
func (s Store) MarkErased(ctx context.Context, people ...notification.RecipientKey) error {
	const mark = `
		INSERT INTO erased_recipient (user_type, user_id)
		SELECT "UserType", "UserID"
		FROM   jsonb_to_recordset($1) AS p ("UserType" text, "UserID" text)
		ON CONFLICT DO NOTHING`

	if err := s.Exec(ctx, "mark a recipient as erased", mark, people); err != nil {
		return err
	}
	return s.awaitWriters(ctx, append([]string{DeliveryTable, "recipient_device"}, heraldsTables...))
}

// awaitWriters waits for the transactions that write, or have locked rows of, one of the tables now.
func (s Store) awaitWriters(ctx context.Context, tables []string) error {
	const writers = `
		SELECT DISTINCT virtualtransaction
		FROM   pg_locks
		WHERE  locktype = 'relation'
		AND    database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND    relation = ANY (SELECT to_regclass(t) FROM unnest($2::text[]) AS t)
		AND    mode IN ('RowShareLock', 'RowExclusiveLock')
		AND    (virtualtransaction = ANY ($1::text[]) OR $1::text[] IS NULL)`

	for running := []string(nil); ; {
		var err error
		running, err = db.Collect(ctx, s.Pool, "wait for running transactions", pgx.RowTo[string], writers, running, tables)
		if err != nil || len(running) == 0 {
			return err
		}
		if err := pause(ctx, writersInterval); err != nil {
			return err
		}
	}
}

// writersInterval is the time between two looks at running transactions.
const writersInterval = 20 * time.Millisecond

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

const (

	// toErase reports whether a delivery n may still be sent or escalated, or holds a text, an
	// address or the provider's words. A release that knows no erasures may store these late.
	toErase = `(n.status = 'PENDING' OR n.escalates OR n.title <> '' OR n.body <> '' OR n.url IS NOT NULL OR n.recipient_address IS NOT NULL
		    OR (n.status = 'FAILED' AND n.last_error <> '` + db.ErasedText + `')
		    OR EXISTS (SELECT FROM delivery_attempt a WHERE a.delivery_id = n.delivery_id AND a.detail <> '` + db.ErasedText + `')
		    OR EXISTS (SELECT FROM delivery_receipt r WHERE r.delivery_id IN (n.delivery_id, n.digest_id) AND r.detail IS NOT NULL))`

	// eraseDeliveries ends the deliveries of a person, and empties them. A worker ends their
	// workflows. An attempt that is under way may end first: a later run erases its delivery.
	eraseDeliveries = `
		WITH chosen AS (
			SELECT n.id, n.delivery_id, n.event_id, n.status = 'PENDING' AS waits, n.escalates, coalesce(n.attempt_until > now(), false) AS under_way
			FROM   notification n
			WHERE  n.user_type = $1
			AND    n.user_id = $2
			AND    n.id > $3
			AND    ` + toErase + `
			ORDER BY n.id
			LIMIT  500
			FOR UPDATE
		), erased AS (
			UPDATE notification n
			SET    status            = CASE WHEN c.waits THEN 'CANCELLED' ELSE n.status END,
			       last_error        = CASE WHEN c.waits THEN '` + notification.NoLongerRecipient + `'
			                                WHEN n.status = 'FAILED' THEN '` + db.ErasedText + `'
			                                ELSE n.last_error END,
			       escalates         = false,
			       title             = left(n.title, 0),
			       body              = left(n.body, 0),
			       url               = NULL,
			       recipient_address = NULL,
			       address_hash      = NULL
			FROM   chosen c
			WHERE  n.id = c.id
			AND    NOT c.under_way
			RETURNING n.delivery_id, n.digest_id, c.waits, c.escalates
		), attempts AS (
			UPDATE delivery_attempt a SET detail = NULL FROM erased e WHERE a.delivery_id = e.delivery_id AND a.detail IS NOT NULL
		), retries AS (
			UPDATE delivery_retry r SET error_before = NULL FROM erased e WHERE r.delivery_id = e.delivery_id AND r.error_before IS NOT NULL
		), receipts AS (
			UPDATE delivery_receipt r SET detail = NULL FROM erased e WHERE r.delivery_id IN (e.delivery_id, e.digest_id) AND r.detail IS NOT NULL
		), told AS (
			INSERT INTO delivery_follow_up (delivery_id, kind)
			SELECT delivery_id, 'REPLACED' FROM erased WHERE waits
			UNION ALL
			SELECT delivery_id, 'ESCALATION' FROM erased WHERE escalates
			RETURNING pg_notify('delivery_follow_up', '')
		)
		SELECT (SELECT count(*) FROM erased), (SELECT count(*) FROM chosen WHERE under_way), (SELECT max(id) FROM chosen),
		       (SELECT count(*) FROM told)`
)

// ErasedPage is the result of one page of an erasure.
type ErasedPage struct {
	Erased   int
	UnderWay int    // deliveries with an attempt under way, which stay as they are
	Next     *int64 // where the next page begins; nil: there is none
}

// EraseDeliveries erases up to 500 deliveries of a person, after a number of table notification.
func (s Store) EraseDeliveries(ctx context.Context, who notification.RecipientKey, after int64) (ErasedPage, error) {
	var page ErasedPage
	var told int
	err := s.Pool.QueryRow(ctx, eraseDeliveries, who.UserType, who.UserID, after).Scan(&page.Erased, &page.UnderWay, &page.Next, &told)
	return page, db.Wrap(err, "erase deliveries")
}

// ErasePerson deletes the rows about a person from a table whose rows belong to one person.
func (s Store) ErasePerson(ctx context.Context, who notification.RecipientKey, table string) (rows int, err error) {
	done, err := s.Pool.Exec(ctx, "DELETE FROM "+table+" WHERE user_type = $1 AND user_id = $2", who.UserType, who.UserID)
	return int(done.RowsAffected()), db.Wrap(err, "erase "+table)
}

// UnlinkMerged forgets who was merged into a person.
func (s Store) UnlinkMerged(ctx context.Context, who notification.RecipientKey) error {
	return s.Exec(ctx, "erase "+MergedTable, "DELETE FROM merged_recipient WHERE to_user_type = $1 AND to_user_id = $2", who.UserType,
		who.UserID)
}

// Selves are the keys of one person: the present one, and the keys of people who were merged into it.
type Selves []notification.RecipientKey

// columns returns the arguments of a statement that reads selves.
func (s Selves) columns() (userTypes, userIDs []string) {
	for _, key := range s {
		userTypes, userIDs = append(userTypes, string(key.UserType)), append(userIDs, key.UserID)
	}
	return userTypes, userIDs
}

// selves are the keys of one person, $1 and $2.
const selves = "unnest($1::text[], $2::text[]) AS s (user_type, user_id)"

// PersonalEvents reads the ids of events with a decision about a person, or with a delivery to them:
// the first 500 after an id.
func (s Store) PersonalEvents(ctx context.Context, who Selves, after string) ([]string, error) {
	const query = `
		SELECT d.event_id FROM ` + selves + ` JOIN notification_decision d USING (user_type, user_id) WHERE d.event_id > $3
		UNION
		SELECT n.event_id FROM ` + selves + ` JOIN notification n USING (user_type, user_id) WHERE n.event_id > $3
		ORDER BY event_id
		LIMIT 500`

	userTypes, userIDs := who.columns()
	return db.Collect(ctx, s.Pool, "read the events of a recipient", pgx.RowTo[string], query, userTypes, userIDs, after)
}

// EventPlace is a place in event_outbox, in the order of creation.
type EventPlace struct {
	CreatedAt time.Time
	Seq       int64
}

// EventsAbout reads the next 5000 events, and returns the ids of events whose aggregate is the
// person, without the events of [Store.PersonalEvents]. ADMIN and BROADCAST are aggregates of many
// people. next is where the next call begins; nil: that was all.
func (s Store) EventsAbout(ctx context.Context, who Selves, after EventPlace) (ids []string, next *EventPlace, err error) {
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
			JOIN   ` + selves + ` ON (s.user_type, s.user_id) = (p.aggregate_type, p.aggregate_id)
			WHERE  p.aggregate_type NOT IN ('ADMIN', 'BROADCAST')
			AND    NOT EXISTS (SELECT FROM ` + selves + ` JOIN notification_decision d USING (user_type, user_id) WHERE d.event_id = p.event_id)
			AND    NOT EXISTS (SELECT FROM ` + selves + ` JOIN notification n USING (user_type, user_id) WHERE n.event_id = p.event_id))
		FROM   page
		ORDER BY created_at DESC, seq DESC
		LIMIT  1`

	userTypes, userIDs := who.columns()
	var last EventPlace
	err = db.Each(ctx, s.Pool, "read the events about a recipient", []any{&last.CreatedAt, &last.Seq, &ids}, func() { next = &last },
		query, userTypes, userIDs, after.CreatedAt, after.Seq)
	return ids, next, err
}

// ErasedEvents are the results for events that concern a person.
type ErasedEvents struct {
	Erased int      // payloads that were only about the person
	Open   []string // events that have not ended, which keep their payload until a later run
	Shared []string // events that told other people too, which keep their payload
}

// onlyTheirs reports whether an event t has no decision about another person.
const onlyTheirs = `NOT EXISTS (SELECT FROM notification_decision d WHERE d.event_id = t.event_id
	AND (d.user_type, d.user_id) NOT IN (SELECT * FROM ` + selves + `))
		AND    NOT EXISTS (SELECT FROM notification n WHERE n.event_id = t.event_id
		       AND (n.user_type, n.user_id) NOT IN (SELECT * FROM ` + selves + `))`

// EraseEvents empties the payloads of events that have ended and were only about a person.
func (s Store) EraseEvents(ctx context.Context, who Selves, ids []string) (ErasedEvents, error) {
	const erase = `
		UPDATE event_outbox t
		SET    payload = '{}'
		WHERE  t.event_id = ANY ($3)
		AND    t.payload <> '{}'
		AND    t.status = 'PROCESSED'
		AND    (SELECT p.status FROM processed_event p WHERE p.event_id = t.event_id) IS DISTINCT FROM 'PROCESSING'
		AND    ` + db.NotUnproduced + `
		AND    ` + onlyTheirs
	const kept = `
		SELECT t.event_id, ` + onlyTheirs + `
		FROM   event_outbox t
		WHERE  t.event_id = ANY ($3)
		AND    t.payload <> '{}'
		ORDER BY t.event_id`

	userTypes, userIDs := who.columns()
	var done ErasedEvents
	batch := &pgx.Batch{}
	batch.Queue(erase, userTypes, userIDs, ids).Exec(func(tag pgconn.CommandTag) error {
		done.Erased = int(tag.RowsAffected())
		return nil
	})
	var id string
	var open bool
	db.QueueEach(batch, []any{&id, &open}, func() {
		if open {
			done.Open = append(done.Open, id)
		} else {
			done.Shared = append(done.Shared, id)
		}
	}, kept, userTypes, userIDs, ids)
	return done, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "erase events")
}
