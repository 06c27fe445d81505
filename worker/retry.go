package main

import (
	"context"
	"log/slog"
	"time"
)

const (
	// retryStart is how long to wait for a Temporal that does not answer yet.
	retryStart = 2 * time.Second
	// maxScheduleRetry is the longest time between two attempts to schedule the sweep,
	// which the server's operator may have to permit first.
	maxScheduleRetry = time.Minute
	// keepInterval is the time from one look at a workflow that always runs to the next.
	keepInterval = 30 * time.Second
)

// retry tries until it succeeds or ctx ends, at intervals that double up to longest.
// It logs each failure with what the process waits for.
func retry(ctx context.Context, waiting string, longest time.Duration, try func(context.Context) error) {
	for wait := retryStart; ctx.Err() == nil; wait = min(2*wait, longest) {
		err := try(ctx)
		if err == nil {
			return
		}
		slog.Warn(waiting, "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// keep starts something that always runs, and starts it again after somebody has terminated
// it: try returns no error while it runs.
func keep(ctx context.Context, waiting string, try func(context.Context) error) {
	for ctx.Err() == nil {
		retry(ctx, waiting, keepInterval, try)
		select {
		case <-ctx.Done():
		case <-time.After(keepInterval):
		}
	}
}
