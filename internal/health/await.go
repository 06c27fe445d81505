package health

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
)

// awaitInterval is between two looks at what is not there yet.
const awaitInterval = 2 * time.Second

// Await tries until it succeeds or ctx ends, and says once a minute what it waits for.
// Each try has 3 s.
func Await(ctx context.Context, what string, try func(context.Context) error) {
	said := rate.Sometimes{Interval: logInterval}
	for waited := false; ; waited = true {
		trying, cancel := context.WithTimeout(ctx, checkTimeout)
		err := try(trying)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if waited {
				slog.Info("the wait is over", "for", what)
			}
			return
		}
		said.Do(func() { slog.Warn("waiting for "+what, "error", err) })
		select {
		case <-ctx.Done():
		case <-time.After(awaitInterval):
		}
	}
}
