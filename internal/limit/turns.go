package limit

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// TakeTurns takes turns to send over a channel or a provider: the next free turns, up to the wanted
// number, and none further ahead than in.Ahead. All processes share the turns of a channel,
// which follow each other at the rate, by the clock of the database.
//
// A turn is lost if nobody takes it within 200 ms. So after a silence, waiting messages are
// not sent all at once. While there are too few turns, callers who may reserve further
// ahead come first.
func (s Store) TakeTurns(ctx context.Context, in notification.TurnsWanted) (notification.Turns, error) {
	for {
		taken, err := s.takeTurns(ctx, in)
		if !errors.Is(err, pgx.ErrNoRows) {
			return taken, db.Wrap(err, "take turns")
		}
		const insert = `
			INSERT INTO channel_turn (channel, next_at)
			VALUES ($1, now())
			ON CONFLICT DO NOTHING`
		if _, err := s.Pool.Exec(ctx, insert, in.Name); err != nil {
			return notification.Turns{}, db.Wrap(err, "insert channel_turn")
		}
	}
}

// takeTurns is one statement on the row of the channel. Without a row the error is
// [pgx.ErrNoRows].
//
// It reads the clock after it has locked the row, since it may have waited for the lock. A
// row that is further ahead than this rate allows comes from a slower rate. The lowest rate
// is one a year.
func (s Store) takeTurns(ctx context.Context, in notification.TurnsWanted) (notification.Turns, error) {
	const query = `
		WITH locked AS MATERIALIZED (
			SELECT next_at
			FROM   channel_turn
			WHERE  channel = $1
			FOR NO KEY UPDATE
		), clock AS MATERIALIZED (
			SELECT next_at, clock_timestamp() AS now
			FROM   locked
		), untaken AS (
			SELECT now, least(greatest(next_at, now - interval '200 ms'), now + interval '1 min' + make_interval(secs => 1 / $2::float8)) AS first
			FROM   clock
		), turns AS MATERIALIZED (
			SELECT now, first, greatest(0, least($3::float8, 1 + floor(extract(epoch FROM now + $4::interval - first)::float8 * $2))) AS granted
			FROM   untaken
		), taken AS (
			UPDATE channel_turn t
			SET    next_at = u.first + make_interval(secs => u.granted / $2)
			FROM   turns u
			WHERE  t.channel = $1
			AND    u.granted > 0
		)
		SELECT granted::int, first - now - CASE WHEN granted > 0 THEN interval '0' ELSE $4 END
		FROM   turns`

	const oneAYear = 1 / (365 * 86400.)
	var turns notification.Turns
	err := s.Pool.QueryRow(ctx, query, in.Name, max(in.Rate, oneAYear), in.Most, min(in.Ahead, time.Minute)).Scan(&turns.Granted, &turns.Wait)
	return turns, err
}
