package dialects

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/outboxes"
)

const (
	// ownTimeout bounds what taking slots and giving them back waits for the database.
	ownTimeout = 5 * time.Second
	tryLock    = "SELECT pg_try_advisory_lock(hashtext($1), $2)"
	unlockAll  = "SELECT pg_advisory_unlock_all()"
)

// keepalives have the database notice within 20 seconds that a machine is gone.
var keepalives = map[string]string{"tcp_keepalives_idle": "5", "tcp_keepalives_interval": "5", "tcp_keepalives_count": "3"}

// Own takes up to share of the slots, of [outboxes.Slots], that are free: while a
// poller has them, no other one does, of whichever process or installation. They are
// advisory locks of a connection of their own, so that the end of a process, however it
// comes, frees them. owned ends when that connection does.
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
		for owned.Err() == nil {
			if _, err := conn.WaitForNotification(owned); err != nil { // nobody notifies: it is lost, or no longer needed
				stop()
			}
		}
	}()
	return owned, slots, func() {
		stop()
		<-watched
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ownTimeout)
		defer cancel()
		_, _ = conn.Exec(ctx, unlockAll) // once the connection is lost, they are free
		_ = conn.Close(ctx)
	}, nil
}

func (t *Table) lockSlots(ctx context.Context, conn *pgx.Conn, share int) (map[int]bool, error) {
	slots := map[int]bool{}
	for slot := 0; slot < outboxes.Slots && len(slots) < share; slot++ {
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
