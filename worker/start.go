package main

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/time/rate"

	"herald/internal/check"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
	"herald/internal/wiring"
	"herald/migrations"
)

const (
	// databaseInterval is between two looks at a database that is not there yet.
	databaseInterval = 2 * time.Second
	// checkedSince is how far back the check at the start looks at events.
	checkedSince = 24 * time.Hour
)

// awaitDatabase waits until the database answers and has the schema of this build, or ctx
// ends. It says so once a minute.
func awaitDatabase(ctx context.Context, db *postgres.Store) {
	said := rate.Sometimes{Interval: logInterval}
	for waited := false; ; waited = true {
		trying, cancel := context.WithTimeout(ctx, checkTimeout)
		err := db.Current(trying, migrations.FS)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			if waited {
				slog.Info("the database is there")
			}
			return
		}
		said.Do(func() { slog.Warn("waiting for the database, or for its schema", "error", err) })
		select {
		case <-ctx.Done():
		case <-time.After(databaseInterval):
		}
	}
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
func warnOfMistakes(ctx context.Context, db *postgres.Store, wired wiring.Wiring, part part, sources []notification.SourceConfig) {
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
