package relay

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// KnownRows returns the kept rows of a source, by key. It also returns the hashes of record keys
// that a row blocks while it waits for its topic.
func (s Store) KnownRows(ctx context.Context, source string, keys []string, hashes []int64) (map[string]KnownRow, map[int64]bool, error) {
	const byKey = `
		SELECT row_key AS key, event_id, coalesce(key_hash, 0) AS key_hash, refusals,
		       coalesce(greatest(next_attempt_at - now(), '0'), '0') AS wait,
		       coalesce(error, '') AS error, coalesce(people_error, '') AS people_error,
		       sent_at IS NOT NULL AS sent, failed_at IS NOT NULL AS failed, marked_at IS NOT NULL AS marked,
		       coalesce(now() - sent_at, '0') AS sent_for
		FROM   source_row
		WHERE  source = $1
		AND    row_key = ANY ($2)`
	const holding = `
		SELECT DISTINCT key_hash
		FROM   source_row
		WHERE  source = $1
		AND    key_hash = ANY ($2)
		AND    refusals > 0
		AND    sent_at IS NULL
		AND    failed_at IS NULL`

	known, held := map[string]KnownRow{}, map[int64]bool{}
	batch := &pgx.Batch{}
	var rows []KnownRow
	db.QueueInto(batch, &rows, pgx.RowToStructByName, byKey, source, keys)
	if len(hashes) > 0 {
		var hash int64
		db.QueueEach(batch, []any{&hash}, func() { held[hash] = true }, holding, source, hashes)
	}
	err := s.Pool.SendBatch(ctx, batch).Close()
	for _, row := range rows {
		known[row.Key] = row
	}
	return known, held, db.Wrap(err, "read the known rows of a source")
}

// KeepRows stores the state of rows.
func (s Store) KeepRows(ctx context.Context, source string, rows []KnownRow) error {
	const query = `
		INSERT INTO source_row AS k (source, row_key, event_id, key_hash, refusals, next_attempt_at, error, people_error, sent_at, failed_at,
		       marked_at)
		SELECT $1, "Key", "EventID", nullif("KeyHash", 0), "Refusals", CASE WHEN "Wait" > 0
		       THEN now() + "Wait" / 1000 * interval '1 microsecond' END,
		       nullif("Error", ''), nullif("PeopleError", ''), CASE WHEN "Sent" THEN now() END, CASE WHEN "Failed" THEN now() END, CASE
		           WHEN "Marked" THEN now() END
		FROM   jsonb_to_recordset($2) AS r ("Key" text, "EventID" text, "KeyHash" bigint, "Refusals" int, "Wait" bigint, "Error" text,
		       "PeopleError" text,
		                                    "Sent" boolean, "Failed" boolean, "Marked" boolean)
		ON CONFLICT (source, row_key) DO UPDATE
		SET    event_id        = excluded.event_id,
		       key_hash        = excluded.key_hash,
		       refusals        = excluded.refusals,
		       next_attempt_at = excluded.next_attempt_at,
		       error           = excluded.error,
		       people_error    = excluded.people_error,
		       sent_at         = CASE WHEN excluded.sent_at IS NOT NULL THEN coalesce(k.sent_at, excluded.sent_at) END,
		       failed_at       = CASE WHEN excluded.failed_at IS NOT NULL THEN coalesce(k.failed_at, excluded.failed_at) END,
		       marked_at       = CASE WHEN excluded.marked_at IS NOT NULL THEN coalesce(k.marked_at, excluded.marked_at) END`

	return s.Exec(ctx, "keep rows of a source", query, source, rows)
}

// ForgetRows deletes the state of rows.
func (s Store) ForgetRows(ctx context.Context, source string, keys []string) error {
	const query = `
		DELETE FROM source_row
		WHERE  source = $1
		AND    row_key = ANY ($2)`

	return s.Exec(ctx, "forget rows of a source", query, source, keys)
}

// OverdueRows returns the keys of rows that block their record keys, and whose next attempt is a
// minute late, oldest first.
func (s Store) OverdueRows(ctx context.Context, source string, limit int) ([]string, error) {
	const query = `
		SELECT row_key
		FROM   source_row
		WHERE  source = $1
		AND    refusals > 0
		AND    sent_at IS NULL
		AND    failed_at IS NULL
		AND    coalesce(next_attempt_at, '-infinity') < now() - interval '1 minute'
		ORDER BY next_attempt_at NULLS FIRST
		LIMIT  $2`

	return db.Collect(ctx, s.Pool, "read the overdue rows of a source", pgx.RowTo[string], query, source, limit)
}

// TakePosition makes owner the owner of these slots. It returns the position that the last
// owner of exactly these slots kept; nil: none did, or a slot had another owner since.
func (s Store) TakePosition(ctx context.Context, source string, slots []int, owner string) (position []byte, err error) {
	const before = `
		DELETE FROM source_position
		WHERE  source = $1
		AND    slots && $2
		RETURNING CASE WHEN slots = $2 THEN position END`
	const begin = `
		INSERT INTO source_position (source, slots, owner)
		VALUES ($1, $2, $3)`

	batch := &pgx.Batch{} // one transaction
	var kept []byte
	db.QueueEach(batch, []any{&kept}, func() { position = append(position, kept...) }, before, source, slots) // at most one is not null
	batch.Queue(begin, source, slots, owner)
	return position, db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "take the position of a walk")
}

// KeepPosition keeps a position, unless one of owner's slots has a new owner.
func (s Store) KeepPosition(ctx context.Context, source, owner string, position []byte) error {
	const query = `
		UPDATE source_position
		SET    position = $3
		WHERE  source = $1
		AND    owner = $2`

	return s.Exec(ctx, "keep the position of a walk", query, source, owner, position)
}

// TopicBackOffs returns the topics of a source that accept no records.
func (s Store) TopicBackOffs(ctx context.Context, source string) ([]TopicBackOff, error) {
	const query = `
		SELECT topic, coalesce(greatest(next_attempt_at - now(), '0'), '0') AS wait, now() - resting_since AS since, error
		FROM   source_topic
		WHERE  source = $1
		ORDER BY topic
		LIMIT  1000`

	return db.Collect(ctx, s.Pool, "read the resting topics of a source", pgx.RowToStructByName[TopicBackOff], query, source)
}

// BackOffTopic records that a topic accepts no records. If several pollers record that, the latest next
// attempt counts.
func (s Store) BackOffTopic(ctx context.Context, source string, topic TopicBackOff) error {
	const query = `
		INSERT INTO source_topic (source, topic, next_attempt_at, error)
		VALUES ($1, $2, now() + $3::interval, $4)
		ON CONFLICT (source, topic) DO UPDATE
		SET    next_attempt_at = greatest(source_topic.next_attempt_at, excluded.next_attempt_at),
		       error           = excluded.error`

	return s.Exec(ctx, "let a topic rest", query, source, topic.Topic, topic.Wait, topic.Error)
}

// EndBackOffs records that topics accept records again. If another poller has set a later attempt, the
// topic gets nothing until that attempt.
func (s Store) EndBackOffs(ctx context.Context, source string, topics []string) error {
	const query = `
		DELETE FROM source_topic
		WHERE  source = $1
		AND    topic = ANY ($2)
		AND    next_attempt_at <= now()`

	return s.Exec(ctx, "end the rest of topics", query, source, topics)
}

// SourceState counts the failed rows of a source, up to [MostCounted], and its topics that accept nothing.
func (s Store) SourceState(ctx context.Context, source string) (failed, resting int, err error) {
	const query = `
		SELECT (SELECT count(*) FROM (SELECT FROM source_row WHERE source = $1 AND failed_at IS NOT NULL LIMIT $2) AS f),
		       (SELECT count(*) FROM source_topic WHERE source = $1)`

	err = s.Pool.QueryRow(ctx, query, source, db.MostCounted).Scan(&failed, &resting)
	return failed, resting, db.Wrap(err, "count the failed rows of a source")
}

// SourceRow is a row of an outbox that Herald remembers.
type SourceRow struct {
	Key           string     `json:"key"`
	EventID       string     `json:"event_id"`
	State         string     `json:"state"` // WAITING, FAILED, UNMARKED or UNTOLD
	Refusals      int        `json:"refusals"`
	NextAttemptAt *time.Time `json:"next_attempt_at"` // null: at once, or never
	Error         string     `json:"error"`
	PeopleError   string     `json:"people_error"` // why the row notifies nobody
	FailedAt      *time.Time `json:"failed_at"`
	SentAt        *time.Time `json:"sent_at"`
}

// SourceRows lists the rows of a source that were refused, that notify nobody, or that
// cannot be marked. It starts after a key, in the order of keys.
func (s Store) SourceRows(ctx context.Context, source, after string, limit int) ([]SourceRow, error) {
	const query = `
		SELECT row_key AS key, event_id, refusals, next_attempt_at, coalesce(error, '') AS error, coalesce(people_error, '') AS people_error,
		       failed_at, sent_at,
		       CASE WHEN failed_at IS NOT NULL THEN 'FAILED'
		            WHEN sent_at IS NOT NULL AND marked_at IS NULL THEN 'UNMARKED'
		            WHEN sent_at IS NOT NULL OR refusals = 0 THEN 'UNTOLD'
		            ELSE 'WAITING' END AS state
		FROM   source_row
		WHERE  source = $1
		AND    row_key > $2
		ORDER BY row_key
		LIMIT  $3`

	return db.Collect(ctx, s.Pool, "list the rows of a source", pgx.RowToStructByName[SourceRow], query, source, after, limit)
}

// FailedRows returns the failed rows among keys, in order, after a key. Without keys, it
// returns the first failed rows of the source.
func (s Store) FailedRows(ctx context.Context, source string, keys []string, after string, limit int) ([]string, error) {
	const query = `
		SELECT row_key
		FROM   source_row
		WHERE  source = $1
		AND    failed_at IS NOT NULL
		AND    (cardinality($2::text[]) = 0 OR row_key = ANY ($2))
		AND    row_key > $3
		ORDER BY row_key
		LIMIT  $4`

	return db.Collect(ctx, s.Pool, "read the failed rows of a source", pgx.RowTo[string], query, source, keys, after, limit)
}

// WritesLifecycle reports whether a trigger writes lifecycle_event.
func (s Store) WritesLifecycle(ctx context.Context) (bool, error) {
	const query = `
		SELECT EXISTS (
			SELECT FROM pg_trigger
			WHERE  tgfoid IN (to_regproc('write_delivery_lifecycle'), to_regproc('write_decision_lifecycle'), to_regproc('write_event_lifecycle'),
			       to_regproc('write_operator_lifecycle')))`

	return db.One(ctx, s.Pool, "look for triggers", pgx.RowTo[bool], query)
}

// FailedKeys returns the keys of up to 10,000 failed rows of a source.
func (s Store) FailedKeys(ctx context.Context, source string) ([]string, error) {
	const most = 10_000
	return s.FailedRows(ctx, source, []string{}, "", most)
}
