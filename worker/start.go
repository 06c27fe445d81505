package main

import (
	"context"
	"log/slog"
	"time"

	"herald/internal/check"
	"herald/internal/health"
	"herald/internal/outboxes"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
	"herald/internal/wiring"
	"herald/migrations"
)

// checkedSince is how far back the check at the start looks at events.
const checkedSince = 24 * time.Hour

// awaitDatabase waits until the database answers, has the schema of this build, and has
// agreed on the secret. It fails if the database knows another one.
func awaitDatabase(ctx context.Context, db *postgres.Store) error {
	return health.Await(ctx, "the database, or for its schema", func(ctx context.Context) error {
		if err := db.Current(ctx, migrations.FS); err != nil {
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
	result := (&check.Check{Subjects: subjects}).Run(ctx)
	if ctx.Err() != nil {
		return
	}
	for _, mistake := range result.Mistakes {
		slog.Warn("a mistake in what is configured", "where", mistake.Where(), "problem", mistake.Problem, "next", mistake.Remedy)
	}
	slog.Info("checked what is configured; `starter check` does it again", "mistakes", len(result.Mistakes))
}
