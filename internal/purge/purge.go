package purge

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Table is a table whose old rows can be deleted.
type Table string

// The tables, in the order of purging.
const (
	Outbox        Table = "event_outbox"
	Processed     Table = "processed_event"
	Notifications Table = "notification" // with its attempts and retries
	Receipts      Table = "delivery_receipt"
	Decisions     Table = "notification_decision"
	Actions       Table = "operator_action"
	Preferences   Table = "preference_change"
)

// purgeBatch limits the rows that one transaction deletes, in some ten milliseconds. purgePage limits
// the rows that it reads, so a batch stays short if many rows must stay. Rows of one moment are
// always in one page. The query contains both numbers as text: a plan for any number may read the
// whole table.
const (
	purgeBatch = 1000
	purgePage  = 5000
)

// purgeTimeout limits one batch if the server does not answer.
const purgeTimeout = time.Minute

// These conditions look up the state of a row's event by its key, for each row. For a join,
// the planner may read every event for each batch. The planner believes that each condition
// holds for most rows, and so reads the oldest rows by their index. It would believe that an
// equality holds for few rows. All rows must have ended before $1.
const (
	notUnderWay = `(SELECT p.status = 'PROCESSING' OR p.updated_at >= $1 FROM processed_event p WHERE p.event_id = t.event_id) IS NOT TRUE`
	notToStart  = `coalesce((SELECT o.status FROM event_outbox o WHERE o.event_id = t.event_id), '') NOT IN ('PENDING', 'FAILED')`
	// A PENDING delivery keeps its event: an operator retries the delivery, or the sweep sends it.
	nobodyWaits = `(SELECT true FROM notification n WHERE n.event_id = t.event_id AND ` + db.Undelivered +
		` AND n.status = (SELECT 'PENDING') LIMIT 1) IS NOT TRUE`
	// While a row waits for its topic, its event shows that people were notified.
	notResting = `NOT EXISTS (SELECT FROM source_topic r WHERE r.source = t.source)`
	outboxDone = `t.status = 'PROCESSED' AND ` + notResting + ` AND ` + notUnderWay + ` AND ` + nobodyWaits
)

// purgeRule tells which rows t of a table may be deleted.
type purgeRule struct {
	age     string // the column of a row's time
	mayGo   string // the condition, with the time $1
	changes bool   // others change rows of the table: a batch skips locked rows
}

// rule returns the rule of a table. Deleting from one table does not depend on deleting from
// another. The rows of an event that is under way or may start stay: if the event is planned again,
// Herald would send the deleted deliveries again.
func (c TableCleaner) rule() purgeRule {
	switch c.Table {
	case Outbox:
		rule := purgeRule{"created_at", outboxDone, true}
		if c.HasTopic {
			rule.mayGo += ` AND ` + db.NotUnproduced
		}
		return rule
	case Processed:
		return purgeRule{"created_at", `t.status <> 'PROCESSING' AND t.updated_at < $1 AND ` + notToStart + ` AND ` + nobodyWaits, true}
	case Notifications:
		return purgeRule{"created_at", `t.status <> 'PENDING' AND coalesce(t.sent_at < $1, true) AND ` + notUnderWay + ` AND ` + notToStart + `
			AND (SELECT true FROM delivery_follow_up f WHERE f.delivery_id = t.delivery_id LIMIT 1) IS NOT TRUE`, true}
	case Receipts:
		// A receipt never comes before its delivery, which keeps the receipt's result. An
		// incoming text message stays: without its row, somebody could replay a START and
		// undo a later STOP.
		return purgeRule{"received_at", "t.delivery_id IS NOT NULL", false}
	case Actions:
		// The writer of an event may not approve it, so the row with the writer's name stays until the answer.
		return purgeRule{"at", "(SELECT a.answer IS NULL FROM event_approval a WHERE a.event_id = t.target) IS NOT TRUE", false}
	case Preferences:
		return purgeRule{"at", "true", false}
	default: // the decisions
		return purgeRule{"decided_at", notUnderWay + ` AND ` + notToStart + `
			AND (
				SELECT true
				FROM   notification n
				WHERE  n.event_id = t.event_id
				AND    n.user_type = t.user_type
				AND    n.user_id = t.user_id
				AND    n.status = 'PENDING'
				LIMIT  1
			) IS NOT TRUE`, true}
	}
}

// TableCleaner deletes old rows of one of Herald's tables that are done.
type TableCleaner struct {
	Store *db.DB
	Table Table
	// HasTopic means that an event of event_outbox waits until its topic has it.
	HasTopic bool
}

// Count counts the rows that Clean would delete, up to a limit.
func (c TableCleaner) Count(ctx context.Context, age time.Duration, limit int) (int, error) {
	rule := c.rule()
	query := `
		SELECT count(*)
		FROM   (
			SELECT
			FROM   ` + string(c.Table) + ` t
			WHERE  t.` + rule.age + ` < $1
			AND    ` + rule.mayGo + `
			LIMIT  $2
		) old`

	now, err := c.Store.Now(ctx)
	if err != nil {
		return 0, err
	}
	return db.One(ctx, c.Store.Pool, "count the old rows of "+string(c.Table), pgx.RowTo[int], query, now.Add(-age), limit)
}

// Clean deletes rows that were done for longer than age, the oldest first, each batch in one
// transaction. It begins after a cursor; empty: with the oldest row. After each batch it calls
// said with the number of deleted rows and the cursor, and stops if said returns false. Another
// call may run at the same time.
func (c TableCleaner) Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	now, err := c.Store.Now(ctx)
	if err != nil {
		return err
	}
	from, err := readCursor(after)
	if err != nil {
		return err
	}
	for {
		batch, err := c.next(ctx, now.Add(-age), from)
		if err != nil || batch.Through == nil {
			return err
		}
		if batch.Deleted < purgeBatch { // otherwise the page may have more
			from = batch.Through
		}
		if after = ""; from != nil {
			after = from.Format(time.RFC3339Nano)
		}
		if !said(batch.Deleted, after) {
			return nil
		}
	}
}

func readCursor(after string) (*time.Time, error) {
	if after == "" {
		return nil, nil
	}
	at, err := time.Parse(time.RFC3339Nano, after)
	if err != nil {
		return nil, fmt.Errorf("read the cursor: %w", err)
	}
	return &at, nil
}

// purgedBatch is the result of one batch.
type purgedBatch struct {
	Deleted int
	Through *time.Time // the end of the page; nil: there was no row
}

// next deletes rows of the next page: from before a time, and after an earlier page; nil: of
// the first page.
func (c TableCleaner) next(ctx context.Context, before time.Time, from *time.Time) (purgedBatch, error) {
	rule, table := c.rule(), string(c.Table)
	lock := ""
	if rule.changes {
		lock = "FOR UPDATE OF t SKIP LOCKED"
	}
	query := fmt.Sprintf(`
		WITH page AS MATERIALIZED (
			SELECT max(at) AS through
			FROM   (
				SELECT t.%[2]s AS at
				FROM   %[1]s t
				WHERE  t.%[2]s < $1
				AND    t.%[2]s > coalesce($2, '-infinity'::timestamptz)
				ORDER BY t.%[2]s
				LIMIT  %[5]d
			) read
		), gone AS (
			DELETE FROM %[1]s
			WHERE  ctid = ANY (ARRAY (
				SELECT t.ctid
				FROM   %[1]s t
				WHERE  t.%[2]s > coalesce($2, '-infinity'::timestamptz)
				AND    t.%[2]s <= (SELECT through FROM page)
				AND    %[3]s
				ORDER BY t.%[2]s
				LIMIT  %[6]d
				%[4]s
			))
			RETURNING 1
		)
		SELECT (SELECT count(*) FROM gone), (SELECT through FROM page)`, table, rule.age, rule.mayGo, lock, purgePage, purgeBatch)

	ctx, cancel := context.WithTimeout(ctx, purgeTimeout)
	defer cancel()
	return db.One(ctx, c.Store.Pool, "purge "+table, pgx.RowToStructByPos[purgedBatch], query, before, from)
}
