package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// PurgeTable is a table whose old rows can be deleted.
type PurgeTable string

// The tables, in the order of purging.
const (
	PurgeOutbox        PurgeTable = "event_outbox"
	PurgeProcessed     PurgeTable = "processed_event"
	PurgeNotifications PurgeTable = "notification" // with its attempts and retries
	PurgeReceipts      PurgeTable = "delivery_receipt"
	PurgeDecisions     PurgeTable = "notification_decision"
	PurgeActions       PurgeTable = "operator_action"
	PurgePreferences   PurgeTable = "preference_change"
)

// purgeBatch is the number of rows that one transaction deletes, in some ten milliseconds.
// The query contains it as text: a plan for any number may read the whole table.
const purgeBatch = "1000"

// These conditions look up the state of a row's event by its key, for each row. For a join,
// the planner may read every event for each batch. The planner believes that each condition
// holds for most rows, and so reads the oldest rows by their index. It believes that an
// equality holds for few.
const (
	notUnderWay = `(SELECT p.status FROM processed_event p WHERE p.event_id = t.event_id) IS DISTINCT FROM 'PROCESSING'`
	notToStart  = `coalesce((SELECT o.status FROM event_outbox o WHERE o.event_id = t.event_id), '') NOT IN ('PENDING', 'FAILED')`
	// While a row waits for its topic, its event shows that it has told people.
	notResting = `NOT EXISTS (SELECT FROM source_topic r WHERE r.source = t.source)`
	outboxDone = `t.status = 'PROCESSED' AND ` + notResting + ` AND ` + notUnderWay
	// This keeps an event of Herald's own that its topic has yet to get. If the outbox has
	// lost its topic, source_start still shows where these events begin.
	notUnproduced = `(t.source <> 'herald' OR t.produced_at IS NOT NULL OR t.seq <= coalesce((SELECT seq FROM source_start WHERE source = 'herald'), 9223372036854775807))`
)

// rule returns the age column of a row t, and the condition for deleting it. Deleting from
// one table does not depend on deleting from another. The rows of an event that is under
// way or may start stay: planning it again would send again what is missing.
func (table PurgeTable) rule() (age, mayGo string) {
	switch table {
	case PurgeOutbox:
		return "created_at", outboxDone + ` AND ` + notUnproduced
	case PurgeProcessed:
		return "created_at", `t.status <> 'PROCESSING' AND ` + notToStart
	case PurgeNotifications:
		return "created_at", `t.status <> 'PENDING' AND ` + notUnderWay + ` AND ` + notToStart
	case PurgeReceipts:
		// A receipt never comes before its delivery, which keeps the receipt's result. An
		// incoming text message stays: without its row, somebody could replay a START and
		// undo a later STOP.
		return "received_at", "t.delivery_id IS NOT NULL"
	case PurgeActions, PurgePreferences:
		return "at", "true"
	default: // the decisions
		return "decided_at", notUnderWay + ` AND ` + notToStart + `
			AND (
				SELECT true
				FROM   notification n
				WHERE  n.event_id = t.event_id
				AND    n.user_type = t.user_type
				AND    n.user_id = t.user_id
				AND    n.status = 'PENDING'
				LIMIT  1
			) IS NOT TRUE`
	}
}

// Now returns the database's time, which alone decides how old rows are.
func (s *Store) Now(ctx context.Context) (time.Time, error) {
	return One(ctx, s.Pool, "read the database's clock", pgx.RowTo[time.Time], "SELECT now()")
}

// CountPurgeable counts the rows from before a time that may be deleted, up to a limit.
func (s *Store) CountPurgeable(ctx context.Context, table PurgeTable, before time.Time, limit int) (int, error) {
	age, mayGo := table.rule()
	return s.countPurgeable(ctx, table, age, mayGo, before, limit)
}

func (s *Store) countPurgeable(ctx context.Context, table PurgeTable, age, mayGo string, before time.Time, limit int) (int, error) {
	query := `
		SELECT count(*)
		FROM   (
			SELECT
			FROM   ` + string(table) + ` t
			WHERE  t.` + age + ` < $1
			AND    ` + mayGo + `
			LIMIT  $2
		) old`

	return One(ctx, s.Pool, "count the old rows of "+string(table), pgx.RowTo[int], query, before, limit)
}

// PurgeResult is the result of one batch.
type PurgeResult struct {
	Deleted int
	Through *time.Time // where the next batch begins; nil: there is none
}

// PurgeNext deletes the next of the oldest rows from before a time that may be deleted, in
// one transaction. It begins where an earlier batch ended, so that it does not read skipped
// rows again; nil: with the oldest. It skips locked rows.
func (s *Store) PurgeNext(ctx context.Context, table PurgeTable, before time.Time, from *time.Time) (PurgeResult, error) {
	age, mayGo := table.rule()
	return s.purgeNext(ctx, table, age, mayGo, before, from)
}

func (s *Store) purgeNext(ctx context.Context, table PurgeTable, age, mayGo string, before time.Time, from *time.Time) (PurgeResult, error) {
	query := `
		WITH gone AS (
			DELETE FROM ` + string(table) + `
			WHERE  ctid = ANY (ARRAY (
				SELECT t.ctid
				FROM   ` + string(table) + ` t
				WHERE  t.` + age + ` < $1
				AND    t.` + age + ` >= coalesce($2, '-infinity'::timestamptz)
				AND    ` + mayGo + `
				ORDER BY t.` + age + `
				LIMIT  ` + purgeBatch + `
				FOR UPDATE OF t SKIP LOCKED
			))
			RETURNING ` + age + ` AS at
		)
		SELECT count(*), max(at) FROM gone`

	return One(ctx, s.Pool, "purge "+string(table), pgx.RowToStructByPos[PurgeResult], query, before, from)
}

// PurgeOutbox is [Store.PurgeNext] for event_outbox. Without a topic, no event waits for
// one.
func (s *Store) PurgeOutbox(ctx context.Context, hasTopic bool, before time.Time, from *time.Time) (deleted int, through *time.Time, err error) {
	age, mayGo := outboxRule(hasTopic)
	batch, err := s.purgeNext(ctx, PurgeOutbox, age, mayGo, before, from)
	return batch.Deleted, batch.Through, err
}

// CountOutbox is [Store.CountPurgeable] for event_outbox.
func (s *Store) CountOutbox(ctx context.Context, hasTopic bool, before time.Time, limit int) (int, error) {
	age, mayGo := outboxRule(hasTopic)
	return s.countPurgeable(ctx, PurgeOutbox, age, mayGo, before, limit)
}

func outboxRule(hasTopic bool) (age, mayGo string) {
	if !hasTopic {
		return "created_at", outboxDone
	}
	return PurgeOutbox.rule()
}

// HeldEvents returns the events of a source whose rows must stay in its own table: Herald
// may still tell somebody of an event that is open or failed. Herald does not know a row
// that was sent before Herald came, or that was purged here, so nothing holds it.
func (s *Store) HeldEvents(ctx context.Context, source string, ids []string) ([]string, error) {
	const query = `
		SELECT e.id
		FROM   unnest($1::text[]) AS e (id)
		WHERE  (SELECT p.status FROM processed_event p WHERE p.event_id = e.id) = 'PROCESSING'
		OR     EXISTS (
			SELECT
			FROM   event_outbox t
			WHERE  t.event_id = e.id
			AND    t.source = $2
			AND    t.status <> 'PROCESSED'
		)`

	return Collect(ctx, s.Pool, "read the events that are open", pgx.RowTo[string], query, ids, source)
}
