package attempt_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// ways holds the senders that may begin one delivery at the same time.
var ways = map[string]func(ctx context.Context, s *db.DB, id, owner string) ([]notification.Attempt, error){
	"batch": func(ctx context.Context, s *db.DB, id, owner string) ([]notification.Attempt, error) {
		return attempt.On(s).BeginAttempts(ctx, notification.Begin{DeliveryIDs: []string{id}, Owner: owner, Lease: time.Hour, First: true})
	},
	"child": func(ctx context.Context, s *db.DB, id, owner string) ([]notification.Attempt, error) {
		return attempt.On(s).BeginAttempts(ctx, notification.Begin{DeliveryIDs: []string{id}, Owner: owner, Lease: time.Hour})
	},
	"retry": func(ctx context.Context, s *db.DB, id, owner string) ([]notification.Attempt, error) {
		if _, err := attempt.On(s).Reopen(ctx, notification.Reopened{DeliveryID: id, RunID: owner, Address: "to-EMAIL",
			KeepText: true}); err != nil {
			return nil, err
		}
		return attempt.On(s).BeginAttempts(ctx, notification.Begin{DeliveryIDs: []string{id}, Owner: owner, Lease: time.Hour, Ordered: true})
	},
}

// Two senders step through every interleaving of their statements and commits, under every
// isolation level of Postgres. One delivery has one lease holder. Under the stricter levels,
// a sender may fail; then it is repeated.
func TestOneLeaseHolder(t *testing.T) {
	t.Parallel()

	pairs := [][2]string{{"batch", "batch"}, {"batch", "child"}, {"batch", "retry"}, {"child", "retry"}, {"retry", "retry"}}
	for _, isolation := range []string{"read committed", "repeatable read", "serializable"} {
		for _, pair := range pairs {
			t.Run(isolation+"/"+pair[0]+" and "+pair[1], func(t *testing.T) {
				t.Parallel()

				s, ids := mailsTo(t, 1)
				c := newConductor(t, s)
				for choices := []int{}; choices != nil; {
					postgrestest.Exec(t, s,
						"DELETE FROM delivery_retry; UPDATE notification "+
							"SET attempt_count = 0, attempt_owner = NULL, attempt_until = NULL, attempt_began = NULL")
					senders := [2]*sender{c.start(t, isolation, "a", pair[0], ids[0]), c.start(t, isolation, "b", pair[1], ids[0])}
					choices = c.play(t, senders, choices)
					requireOneHolder(t, s, isolation, senders)
				}
			})
		}
	}
}

func requireOneHolder(t *testing.T, s *db.DB, isolation string, senders [2]*sender) {
	t.Helper()
	var holders []string
	failed := false
	for _, each := range senders {
		var refused *pgconn.PgError
		switch {
		case errors.As(each.err, &refused):
			require.Equal(t, "40001", refused.Code, "%v", each.err)
			require.NotEqual(t, "read committed", isolation)
			failed = true
		case each.attempts[0].Number > 0:
			holders = append(holders, each.attempts[0].Owner)
		}
	}
	require.LessOrEqual(t, len(holders), 1)
	require.True(t, failed || len(holders) == 1, "somebody sends it")
	require.Equal(t, holders, postgrestest.List(t, s, "SELECT attempt_owner FROM notification WHERE attempt_owner IS NOT NULL")[:len(holders)])
}

// sender runs in a separate session. Each statement waits for the conductor before it
// begins, and each change before it commits.
type sender struct {
	name     string
	next     chan struct{} // lets a statement begin
	waiting  atomic.Bool   // for next
	done     chan struct{}
	attempts []notification.Attempt
	err      error
}

func (s *sender) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.waiting.Store(true)
	<-s.next
	return ctx
}

func (*sender) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// conductor decides which of two senders continues. Its session holds a lock that each
// sender needs for its commit.
type conductor struct {
	s    *db.DB
	conn *pgxpool.Conn
}

func newConductor(t *testing.T, s *db.DB) conductor {
	t.Helper()
	postgrestest.Exec(t, s, `
		CREATE FUNCTION wait_for_the_conductor() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF length(current_setting('application_name')) = 1 THEN
				PERFORM pg_advisory_xact_lock(ascii(current_setting('application_name')));
			END IF;
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER wait_for_the_conductor AFTER UPDATE ON notification DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW EXECUTE FUNCTION wait_for_the_conductor()`)
	conn := roomtest.Must(s.Pool.Acquire(t.Context()))(t)
	t.Cleanup(conn.Release)
	roomtest.Must(conn.Exec(t.Context(), "SELECT pg_advisory_lock(ascii('a')), pg_advisory_lock(ascii('b'))"))(t)
	return conductor{s, conn}
}

func (c conductor) start(t *testing.T, isolation, name, way, id string) *sender {
	t.Helper()
	each := &sender{name: name, next: make(chan struct{}), done: make(chan struct{})}
	config := c.s.Pool.Config()
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["application_name"] = name
	config.ConnConfig.RuntimeParams["default_transaction_isolation"] = isolation
	config.ConnConfig.Tracer = each
	pool := roomtest.Must(pgxpool.NewWithConfig(t.Context(), config))(t)
	go func() {
		defer close(each.done)
		defer pool.Close()
		each.attempts, each.err = ways[way](t.Context(), &db.DB{Pool: pool}, id, name)
	}()
	return each
}

// play runs two senders to their ends. If both may continue, it follows choices. After the last
// choice, it takes the first sender. It returns the choices of the next run, or nil after the last
// run.
func (c conductor) play(t *testing.T, senders [2]*sender, choices []int) []int {
	t.Helper()
	choices = slices.Clone(choices)
	for at := 0; ; {
		first, second := c.awaitState(t, senders[0]), c.awaitState(t, senders[1])
		switch {
		case first == hasEnded && second == hasEnded:
			for len(choices) > 0 && choices[len(choices)-1] == 1 {
				choices = choices[:len(choices)-1]
			}
			if len(choices) == 0 {
				return nil
			}
			choices[len(choices)-1] = 1
			return choices
		case first < mayGoOn:
			c.step(t, senders[1], second)
		case second < mayGoOn:
			c.step(t, senders[0], first)
		default:
			if at == len(choices) {
				choices = append(choices, 0)
			}
			c.step(t, senders[choices[at]], [2]state{first, second}[choices[at]])
			at++
		}
	}
}

// state is where a sender waits.
type state int

const (
	running state = iota
	hasEnded
	blocked // by the other
	mayGoOn
	mayCommit
)

// awaitState waits until a sender stops, and returns its state.
func (c conductor) awaitState(t *testing.T, each *sender) (at state) {
	t.Helper()
	require.Eventually(t, func() bool {
		at = c.state(t, each)
		return at != running
	}, time.Minute, time.Millisecond)
	return at
}

func (c conductor) state(t *testing.T, each *sender) state {
	select {
	case <-each.done:
		return hasEnded
	default:
	}
	if each.waiting.Load() {
		return mayGoOn
	}
	return state(postgrestest.Get[int](t, c.s, `
		SELECT coalesce(max(CASE WHEN $2 = ANY (pg_blocking_pids(pid)) THEN $5::int
		                         WHEN cardinality(pg_blocking_pids(pid)) > 0 THEN $4::int
		                         ELSE $3::int END), $3::int)
		FROM   pg_stat_activity
		WHERE  datname = current_database()
		AND    application_name = $1`, each.name, c.conn.Conn().PgConn().PID(), int(running), int(blocked), int(mayCommit)))
}

// step lets a sender begin its next statement, or commit.
func (c conductor) step(t *testing.T, each *sender, at state) {
	t.Helper()
	if at == mayGoOn {
		each.waiting.Store(false)
		each.next <- struct{}{}
		return
	}
	roomtest.Must(c.conn.Exec(t.Context(), "SELECT pg_advisory_unlock(ascii($1))", each.name))(t)
	roomtest.Must(c.conn.Exec(t.Context(), "SELECT pg_advisory_lock(ascii($1))", each.name))(t)
}
