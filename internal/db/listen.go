package db

import (
	"context"
	"time"
)

// reconnectInterval is the pause before a lost LISTEN connection opens again. The caller
// also polls, which covers the gap.
const reconnectInterval = time.Second

// listenLength is the time for which one connection listens. The next connection leads to the primary,
// even if the server of the first has become a replica meanwhile.
const listenLength = time.Minute

// Listen calls wake once it listens to a NOTIFY channel, and at each notification, until
// ctx ends.
func (s *DB) Listen(ctx context.Context, channel string, wake func()) {
	for ctx.Err() == nil {
		_ = s.listenOnce(ctx, channel, wake) // a lost connection is routine; the caller's own statements report a lost database
		select {
		case <-ctx.Done():
		case <-time.After(reconnectInterval):
		}
	}
}

func (s *DB) listenOnce(ctx context.Context, channel string, wake func()) error {
	ctx, cancel := context.WithTimeout(ctx, listenLength)
	defer cancel()
	pooled, err := s.Pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // a connection that listens must not go back to the pool
	defer func() { _ = conn.Close(ctx) }()

	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	if !writable(conn) {
		return errReadOnly
	}
	wake() // for rows that were written while nobody listened
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		wake()
	}
}
