package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Promotion is a row of worker_promotion: a generation of workers that was promoted, or is
// being promoted.
type Promotion struct {
	Generation int        `json:"generation"`
	From       int        `json:"from_generation"`
	BeganAt    time.Time  `json:"began_at"`
	EndedAt    *time.Time `json:"ended_at"` // nil: in progress, or interrupted
}

// ErrPromoting means that another process holds the promotion lock.
var ErrPromoting = errors.New("another process promotes a generation of workers")

// LockPromotions makes this process the only one that promotes generations. The lock
// belongs to one connection, so it ends with the process. held returns an error if the lock
// is lost.
func (s *Store) LockPromotions(ctx context.Context) (held func(context.Context) error, unlock func(), err error) {
	conn, err := s.Pool.Acquire(ctx)
	if err != nil {
		return nil, nil, Wrap(err, "lock promotions")
	}
	const key = "hashtext('herald'), hashtext(current_schema() || '.worker_promotion')"
	locked := false
	err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock("+key+")").Scan(&locked)
	if err == nil && !locked {
		conn.Release()
		return nil, nil, ErrPromoting
	}
	unlock = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectTimeout)
		defer cancel()
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock("+key+")")
		_ = conn.Hijack().Close(ctx) // ends the lock, even if the statement failed
	}
	if err != nil {
		unlock()
		return nil, nil, Wrap(err, "lock promotions")
	}
	return func(ctx context.Context) error { return Wrap(conn.Ping(ctx), "hold the lock of promotions") }, unlock, nil
}

// LastPromotion reads the newest promotion, or the zero value if there was none.
func (s *Store) LastPromotion(ctx context.Context) (Promotion, error) {
	const query = `
		SELECT generation, from_generation, began_at, ended_at
		FROM   worker_promotion
		ORDER BY id DESC
		LIMIT  1`

	last, err := One(ctx, s.Pool, "read the last promotion", pgx.RowToStructByPos[Promotion], query)
	return last, IgnoreNoRows(err)
}

// BeginPromotion records that a generation is being promoted. It continues an interrupted
// promotion.
func (s *Store) BeginPromotion(ctx context.Context, generation, from int) error {
	const query = `
		INSERT INTO worker_promotion (generation, from_generation)
		SELECT $1, $2
		WHERE  NOT EXISTS (
			SELECT
			FROM  (SELECT generation, ended_at FROM worker_promotion ORDER BY id DESC LIMIT 1) AS last
			WHERE  generation = $1
			AND    ended_at IS NULL)`

	return s.Exec(ctx, "begin promotion", query, generation, from)
}

// EndRamp records that an operator gave up a ramping generation. It records nothing while a promotion
// is interrupted: another row would hide that the promotion's events wait.
func (s *Store) EndRamp(ctx context.Context, generation, from int) error {
	const query = `
		INSERT INTO worker_promotion (generation, from_generation, ended_at)
		SELECT $1, $2, now()
		WHERE  NOT EXISTS (SELECT FROM worker_promotion WHERE ended_at IS NULL)`

	return s.Exec(ctx, "end ramp", query, generation, from)
}

// EndPromotion records that all events were started again. An event that ended by itself
// before its workflow could be ended needs no restart.
func (s *Store) EndPromotion(ctx context.Context) error {
	const ended = `
		UPDATE processed_event
		SET    restarting_at = NULL
		WHERE  restarting_at IS NOT NULL
		AND    status <> 'PROCESSING'`
	const end = `
		UPDATE worker_promotion
		SET    ended_at = now()
		WHERE  ended_at IS NULL`

	batch := &pgx.Batch{}
	batch.Queue(ended)
	batch.Queue(end)
	return Wrap(s.Pool.SendBatch(ctx, batch).Close(), "end promotion")
}

// UnfinishedEvents reads the ids of events that may have a workflow: up to limit ids after
// `after`.
func (s *Store) UnfinishedEvents(ctx context.Context, after string, limit int) ([]string, error) {
	const query = `
		SELECT event_id
		FROM   processed_event
		WHERE  status = 'PROCESSING'
		AND    event_id > $1
		ORDER BY event_id
		LIMIT  $2`

	return Collect(ctx, s.Pool, "read unfinished events", pgx.RowTo[string], query, after, limit)
}

// ClaimedEvents reads the ids of events that a poller has claimed. It may have started
// their workflows, but not marked the events yet.
func (s *Store) ClaimedEvents(ctx context.Context, limit int) ([]string, error) {
	const query = `
		SELECT event_id
		FROM   event_outbox
		WHERE  status = 'PENDING'
		AND    lease_owner IS NOT NULL
		LIMIT  $1`

	return Collect(ctx, s.Pool, "read claimed events", pgx.RowTo[string], query, limit)
}

// BeginRestart marks an event whose workflows end only to start again. It reports whether
// the event is open. From then on, the triggers of migration promotion prevent the event and
// its deliveries from becoming failed or cancelled.
func (s *Store) BeginRestart(ctx context.Context, eventID string) (open bool, err error) {
	const query = `
		INSERT INTO processed_event (event_id, restarting_at)
		VALUES ($1, now())
		ON CONFLICT (event_id) DO UPDATE
		SET    restarting_at = coalesce(processed_event.restarting_at, now())
		WHERE  processed_event.status = 'PROCESSING'`

	done, err := s.Pool.Exec(ctx, query, eventID)
	return done.RowsAffected() > 0, Wrap(err, "mark event as restarting")
}

// RestartingEvents reads events that [Store.BeginRestart] has marked: up to limit events
// after `after`.
func (s *Store) RestartingEvents(ctx context.Context, after string, limit int) ([]notification.StuckEvent, error) {
	const query = selectStuckEvents + `
		WHERE  e.restarting_at IS NOT NULL
		AND    e.status = 'PROCESSING'
		AND    e.event_id > $1
		ORDER BY e.event_id
		LIMIT  $2`

	return Collect(ctx, s.Pool, "read restarting events", pgx.RowToStructByNameLax[notification.StuckEvent], query, after, limit)
}

// CountRestarting counts the events that [Store.BeginRestart] has marked, up to MostCounted.
func (s *Store) CountRestarting(ctx context.Context) (int, error) {
	const query = `
		SELECT count(*)
		FROM  (SELECT FROM processed_event WHERE restarting_at IS NOT NULL AND status = 'PROCESSING' LIMIT $1) AS marked`

	return One(ctx, s.Pool, "count restarting events", pgx.RowTo[int], query, MostCounted)
}

// AttemptsUnderWay reports whether a sender has the lease of a delivery of the event.
func (s *Store) AttemptsUnderWay(ctx context.Context, eventID string) (bool, error) {
	const query = `
		SELECT EXISTS (
			SELECT
			FROM   notification n
			WHERE  n.event_id = $1
			AND    n.status = 'PENDING'
			AND    n.attempt_until > now())`

	return One(ctx, s.Pool, "look for attempts under way", pgx.RowTo[bool], query, eventID)
}
