package postgres

import (
	"context"
	"time"
)

// reconnectInterval is how long a lost LISTEN connection is left alone. The interval at
// which the caller looks anyway covers the gap.
const reconnectInterval = time.Second

// listen calls wake once it listens to a channel of NOTIFY, and at each notification, until
// ctx ends.
func (s *Store) listen(ctx context.Context, channel string, wake func()) {
	for ctx.Err() == nil {
		_ = s.listenOnce(ctx, channel, wake) // a lost connection is routine; the caller's own statements report a lost database
		select {
		case <-ctx.Done():
		case <-time.After(reconnectInterval):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context, channel string, wake func()) error {
	pooled, err := s.Pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // a connection that listens must not go back to the pool
	defer func() { _ = conn.Close(ctx) }()

	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	wake() // for what was written while nobody listened
	for {
		if _, err := conn.WaitForNotification(ctx); err != nil {
			return err
		}
		wake()
	}
}
