package health

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// awaitInterval is the time between two tries.
const awaitInterval = 2 * time.Second

// lasting is an error that can report that waiting is useless.
type lasting interface{ Lasting() bool }

// Await calls try until it succeeds or ctx ends, and logs once a minute what it waits for. Each
// call has 3 s. If an error has a method Lasting that returns true, Await stops and returns the
// error.
func Await(ctx context.Context, what string, try func(context.Context) error) error {
	said := rate.Sometimes{Interval: logInterval}
	for waited := false; ; waited = true {
		trying, cancel := context.WithTimeout(ctx, checkTimeout)
		err := try(trying)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			if waited {
				slog.Info("the wait is over", "for", what)
			}
			return nil
		}
		var stays lasting
		if errors.As(err, &stays) && stays.Lasting() {
			return err
		}
		said.Do(func() { slog.Warn("waiting for "+what, "error", err) })
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(awaitInterval):
		}
	}
}
