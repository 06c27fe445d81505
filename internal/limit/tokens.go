package limit

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
)

// Tokens gives out the tokens of rate limits, which all processes share.
type Tokens interface {
	TakeTokens(ctx context.Context, in Wanted) (Taken, error)
}

// Wanted asks for tokens, each of which lets one message go.
type Wanted struct {
	Name  string        // of a channel, or of a provider
	Rate  float64       // tokens per second
	Most  int           // the largest useful number of tokens, at least 1
	Ahead time.Duration // how far ahead a token may be due; at most a minute
}

// Taken are consecutive tokens at the rate of their channel.
type Taken struct {
	Granted int
	Wait    time.Duration // until the first token is due (may be past); without a token: until the next request is useful
}

// TakeTokens takes tokens to send over a channel or a provider: the next free tokens, up to the wanted
// number, and none further ahead than in.Ahead. All processes share the tokens of a channel,
// which follow each other at the rate, by the clock of the database.
//
// A token is lost if nobody takes it within 200 ms. So after a silence, waiting messages are
// not sent all at once. While there are too few tokens, callers who may reserve further
// ahead come first.
func (s Store) TakeTokens(ctx context.Context, in Wanted) (Taken, error) {
	for {
		taken, err := s.takeTokens(ctx, in)
		if !errors.Is(err, pgx.ErrNoRows) {
			return taken, db.Wrap(err, "take tokens")
		}
		const insert = `
			INSERT INTO channel_turn (channel, next_at)
			VALUES ($1, now())
			ON CONFLICT DO NOTHING`
		if _, err := s.Pool.Exec(ctx, insert, in.Name); err != nil {
			return Taken{}, db.Wrap(err, "insert channel_turn")
		}
	}
}

// takeTokens is one statement on the row of the channel. Without a row the error is
// [pgx.ErrNoRows].
//
// It reads the clock after it has locked the row, since it may have waited for the lock. A
// row that is further ahead than this rate allows comes from a slower rate. The lowest rate
// is one a year.
func (s Store) takeTokens(ctx context.Context, in Wanted) (Taken, error) {
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
		), tokens AS MATERIALIZED (
			SELECT now, first, greatest(0, least($3::float8, 1 + floor(extract(epoch FROM now + $4::interval - first)::float8 * $2))) AS granted
			FROM   untaken
		), taken AS (
			UPDATE channel_turn t
			SET    next_at = u.first + make_interval(secs => u.granted / $2)
			FROM   tokens u
			WHERE  t.channel = $1
			AND    u.granted > 0
		)
		SELECT granted::int, first - now - CASE WHEN granted > 0 THEN interval '0' ELSE $4 END
		FROM   tokens`

	const oneAYear = 1 / (365 * 86400.)
	var taken Taken
	err := s.Pool.QueryRow(ctx, query, in.Name, max(in.Rate, oneAYear), in.Most, min(in.Ahead, time.Minute)).Scan(&taken.Granted, &taken.Wait)
	return taken, err
}
