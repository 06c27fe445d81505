package event

import (
	"context"
	"time"

	"herald/internal/db"
)

// A Poller is a row of the table poller: an outbox poller that operators want to run.
type Poller struct {
	Source      string
	Number      int       // from 1
	PausedSince time.Time // zero: it polls
}

// maxPollers limits the rows that [Store.Pollers] reads.
const maxPollers = 1000

// Pollers reads the pollers that operators want to run.
func (s Store) Pollers(ctx context.Context) ([]Poller, error) {
	const query = `
		SELECT source, number, paused_since
		FROM   poller
		ORDER BY source, number
		LIMIT  $1`

	return db.Collect(ctx, s.Pool, "read the pollers", db.ByName[Poller](), query, maxPollers)
}

// KeepPollers stores that the first pollers of a source are to run. A paused poller stays paused.
func (s Store) KeepPollers(ctx context.Context, source string, count int) error {
	const query = `
		INSERT INTO poller (source, number)
		SELECT $1, number
		FROM   generate_series(1, $2) AS number
		ON CONFLICT DO NOTHING`

	return s.Exec(ctx, "store the pollers", query, source, count)
}

// PausePollers stores that the pollers of a source are paused, or that they poll.
func (s Store) PausePollers(ctx context.Context, source string, paused bool) error {
	const query = `
		UPDATE poller
		SET    paused_since = CASE WHEN $2 THEN coalesce(paused_since, now()) END
		WHERE  source = $1`

	return s.Exec(ctx, "store the pause of pollers", query, source, paused)
}

// ForgetPollers stores that no poller of a source is to run.
func (s Store) ForgetPollers(ctx context.Context, source string) error {
	return s.Exec(ctx, "delete the pollers", "DELETE FROM poller WHERE source = $1", source)
}
