package main

import (
	"context"
	"log/slog"
	"time"

	"herald/internal/launch"
)

// maxScheduleRetry is the longest time between two attempts to schedule the sweep,
// which the server's operator may have to permit first.
const maxScheduleRetry = time.Minute

// scheduleSweep has Temporal start the sweep, also in an installation that was
// upgraded. It tries until it succeeds or ctx ends.
func scheduleSweep(ctx context.Context, launcher *launch.Launcher) error {
	for wait := retryStart; ctx.Err() == nil; wait = min(2*wait, maxScheduleRetry) {
		err := launcher.ScheduleSweep(ctx)
		if err == nil {
			return nil
		}
		slog.Warn("the sweep is not scheduled yet", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}
