package main

import (
	"context"
	"log/slog"
	"time"

	"herald/internal/launch"
)

// maxScheduleRetry is the longest time between two tries to schedule the sweep,
// which somebody may have to permit first.
const maxScheduleRetry = time.Minute

// scheduleSweep sees to it that Temporal starts the sweep, also in an
// installation that was upgraded. It tries until it is so, or until ctx ends.
func scheduleSweep(ctx context.Context, launcher *launch.Launcher) {
	for wait := retryStart; ctx.Err() == nil; wait = min(2*wait, maxScheduleRetry) {
		err := launcher.ScheduleSweep(ctx)
		if err == nil {
			return
		}
		slog.Warn("the sweep is not scheduled yet", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
