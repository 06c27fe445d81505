package dialects

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/relay"
)

const (
	// ownTimeout limits the wait for the database when slots are taken or released.
	ownTimeout = 5 * time.Second
	// The owner checks its connection every interval and waits a limited time for the answer. Together,
	// they are shorter than the time after which the database frees the slots of a silent connection.
	watchInterval, watchTimeout = 5 * time.Second, 10 * time.Second

	tryLock   = "SELECT pg_try_advisory_lock(hashtext($1), $2)"
	unlockAll = "SELECT pg_advisory_unlock_all()"
)

// keepalives let the database detect a dead machine, or a lost connection, after 20 seconds.
var keepalives = map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}

// Own takes up to share of the free [relay.Slots]. No other poller, in any process or
// installation, holds them at the same time. The slots are advisory locks of a separate
// connection, so any end of the process frees them. The context owned ends when that connection is lost,
// does not answer, or leads to a server that turned read-only.
func (t *Table) Own(ctx context.Context, share int) (owned context.Context, slots map[int]bool, release func(), err error) {
	config := t.pool.Config().ConnConfig
	for name, value := range keepalives {
		config.RuntimeParams[name] = value
	}
	starting, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(starting, config)
	if err != nil {
		return nil, nil, nil, t.wrap(err, "own rows of")
	}
	if slots, err = t.lockSlots(starting, conn, share); err != nil {
		_ = conn.Close(starting)
		return nil, nil, nil, t.wrap(err, "own rows of")
	}
	owned, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer stop()
		watch(owned, conn)
	}()
	return owned, slots, func() {
		stop()
		<-watched
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownTimeout)
		defer cancel()
		_, _ = conn.Exec(ctx, unlockAll) // a lost connection frees them too
		_ = conn.Close(ctx)
	}, nil
}

// watch returns when ctx has ended, or when the connection is lost, does not answer or is read-only.
func watch(ctx context.Context, conn *pgx.Conn) {
	answers := true
	for answers && ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, watchInterval)
		_, _ = conn.WaitForNotification(waiting) // nobody notifies; the wait ends early if the connection is lost
		cancel()
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout)
		answers = conn.Ping(asking) == nil && writable(conn)
		cancel()
	}
}

func (t *Table) lockSlots(ctx context.Context, conn *pgx.Conn, share int) (map[int]bool, error) {
	slots := map[int]bool{}
	for slot := 0; slot < relay.Slots && len(slots) < share; slot++ {
		var free bool
		if err := conn.QueryRow(ctx, tryLock, "herald "+t.source.Table, slot).Scan(&free); err != nil {
			return nil, err
		}
		if free {
			slots[slot] = true
		}
	}
	return slots, nil
}
