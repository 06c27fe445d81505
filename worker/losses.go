package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/workflows"
)

const (
	// lossInterval is the time between two looks for lost pollers.
	lossInterval = 15 * time.Second
	// lossTimeout limits one look.
	lossTimeout = 10 * time.Second
)

// losses knows which pollers Temporal has lost, such as with its database. While there are any, this
// process starts no permanent workflow: an operator may be about to restore a backup of Temporal.
type losses struct {
	operator *operate.Operator
	last     atomic.Pointer[[]string] // workflow IDs at the last look; nil: unknown
}

// none looks, and returns an error if any poller is lost, or if that is unknown.
func (l *losses) none(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lossTimeout)
	defer cancel()
	lost, err := operate.LostPollers(ctx, l.operator.Launcher, l.operator.DB)
	if err != nil {
		l.last.Store(nil)
		return err
	}
	ids := []string{}
	for _, poller := range lost {
		ids = append(ids, workflows.PollerID(l.operator.Launcher.Prefix, poller.Source, poller.Number))
	}
	l.last.Store(&ids)
	return l.known(ctx)
}

// known returns an error if the last look found lost pollers.
func (l *losses) known(context.Context) error {
	if last := l.last.Load(); last != nil && len(*last) > 0 {
		return fmt.Errorf("lost by Temporal: %s; run `starter restore`", strings.Join(*last, ", "))
	}
	return nil
}

// count returns the number of lost pollers at the last look. A scrape must not call Temporal.
func (l *losses) count(context.Context) (int64, error) {
	last := l.last.Load()
	if last == nil {
		return 0, errUnknown
	}
	return int64(len(*last)), nil
}

// keep looks until ctx ends. With RESTORE=auto it restores what is lost.
func (l *losses) keep(ctx context.Context, restore config.Restoring) {
	for ctx.Err() == nil {
		err := l.none(ctx)
		if l.known(ctx) != nil {
			slog.Error("Temporal lacks pollers that operators want to run: it may have lost its database", "error", err)
			if restore == config.RestoreAuto {
				l.restore(ctx)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lossInterval):
		}
	}
}

// restore does what `starter restore` does. Several workers join one restore.
func (l *losses) restore(ctx context.Context) {
	outcome, err := l.operator.Restore(ctx, operate.Restoring{Rate: operate.RestoreRate}, func(notification.Restored) {})
	if err != nil {
		slog.Warn("RESTORE=auto: the restore has not ended", "error", err)
		return
	}
	slog.Info("RESTORE=auto: restored", "started", outcome.Restored.StartedAgain, "missing_events", outcome.Left.MissingEvents,
		"missing_deliveries", outcome.Left.MissingDeliveries, "ambiguous", outcome.Left.Ambiguous)
}
