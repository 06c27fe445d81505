package main

import (
	"context"
	"log/slog"
	"time"

	"herald/internal/check"
	"herald/internal/health"
	"herald/internal/outboxes"
	"herald/internal/postgres"
	"herald/internal/postgres/migrate"
	"herald/internal/rabbitmq"
	"herald/internal/wiring"
	"herald/migrations"
)

// checkedSince is the age up to which the check at the start looks at events.
const checkedSince = 24 * time.Hour

// awaitDatabase waits until the database answers, has the schema of this build, and has
// agreed on the secret. It fails if the database knows another one.
func awaitDatabase(ctx context.Context, db *postgres.Store) error {
	return health.Await(ctx, "the database, or for its schema", func(ctx context.Context) error {
		if err := migrate.Current(ctx, db, migrations.FS); err != nil {
			return err
		}
		return db.AgreeOnSecret(ctx)
	})
}

// declareQueues declares the queues of user types that an installation has added.
func declareQueues(ctx context.Context, db *postgres.Store, broker *rabbitmq.Broker) {
	retry(ctx, "the queues of added user types are not declared yet", time.Minute, func(ctx context.Context) error {
		types, err := db.UserTypes(ctx)
		broker.Declare(types)
		return err
	})
}

// warnOfMistakes says what `starter check` would say of this part of the work. It holds up
// nothing.
func warnOfMistakes(ctx context.Context, db *postgres.Store, wired wiring.Wiring, part part, sources []outboxes.Source) {
	senders := check.Senders{Wired: wired, Channels: part.channels}
	schema, _ := check.Schema(ctx, db, migrations.FS)
	subjects := append([]check.Subject{schema}, check.Sending(db, senders)...)
	if part.events {
		subjects = append(subjects, check.Planning(db, senders, checkedSince, sources)...)
	}
	result := check.Run(ctx, subjects)
	if ctx.Err() != nil {
		return
	}
	for _, mistake := range result.Mistakes {
		slog.Warn("a mistake in what is configured", "where", mistake.Where(), "problem", mistake.Problem, "next", mistake.Remedy)
	}
	slog.Info("checked what is configured; `starter check` does it again", "mistakes", len(result.Mistakes))
}

const (
	// retryStart is the wait for a Temporal that does not answer yet.
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
