package rabbitmq

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"
)

const (
	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second

	// stable is how long a connection must live for the back-off to begin anew.
	stable = 30 * time.Second
)

// supervise calls serve, which opens a session and returns the reason when it has ended,
// again and again until ctx ends. It calls lost with each reason.
func supervise(ctx context.Context, log *slog.Logger, serve func(context.Context) error, lost func(error)) {
	for failures := 0; ; failures++ {
		opened := time.Now()
		err := serve(ctx)
		if ctx.Err() != nil {
			return
		}
		lost(err)
		if time.Since(opened) > stable {
			failures = 0
		}

		wait := backoff(failures)
		log.Warn("no connection to RabbitMQ", "error", err, "next_attempt_in", wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// supervise keeps one session open until ctx ends.
func (b *Broker) supervise(ctx context.Context) {
	defer close(b.stopped)
	defer b.set(nil, errClosed)
	supervise(ctx, b.log, b.serve, func(err error) { b.set(nil, err) })
}

// serve opens a session and returns when it has ended, with the reason.
func (b *Broker) serve(ctx context.Context) error {
	s, err := openSession(ctx, b.cfg, b.queues)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	b.log.Info("connected to RabbitMQ")
	b.set(s, nil)
	if b.cfg.Installation != "" && !b.marked {
		s.workers.Go(func() { b.mark(s.ctx) })
	}

	select {
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	s.close()
	return context.Cause(s.ctx)
}

// backoff doubles from firstBackoff to maxBackoff. Half of it is random, so that
// many workers do not return to a restarted broker in the same moment.
func backoff(failures int) time.Duration {
	full := min(firstBackoff<<min(failures, 16), maxBackoff)
	return full/2 + rand.N(full/2)
}
