package main

import (
	"context"
	"log/slog"
	"time"

	"herald/internal/check"
	"herald/internal/db"
	"herald/internal/db/migrate"
	"herald/internal/health"
	"herald/internal/person"
	"herald/internal/rabbitmq"
	"herald/migrations"
)

// checkedSince is the maximum age of the events that the check at the start reads.
const checkedSince = 24 * time.Hour

// awaitDatabase waits until the database answers and has the schema of this build. It fails if
// the database is a read replica, or was set up with another HERALD_SECRET.
func awaitDatabase(ctx context.Context, db *db.DB) error {
	return health.Await(ctx, "the database, or for its schema", func(ctx context.Context) error {
		return migrate.Usable(ctx, db, migrations.FS)
	})
}

// declareQueues declares the broker's queues for user types that an installation has added.
func declareQueues(ctx context.Context, db *db.DB, broker *rabbitmq.Broker) {
	retry(ctx, "the queues of added user types are not declared yet", time.Minute, func(ctx context.Context) error {
		types, err := person.On(db).UserTypes(ctx)
		broker.Declare(types)
		return err
	})
}

// warnOfMistakes logs the mistakes that `starter check` would find for this part of the work. The
// start does not wait for it.
func (p *process) warnOfMistakes(ctx context.Context) {
	senders := check.Senders{Wired: p.wired, Channels: p.part.channels}
	schema, _ := check.Schema(ctx, p.events, migrations.FS)
	subjects := append([]check.Subject{schema}, check.Sending(p.events, senders)...)
	if p.part.events {
		subjects = append(subjects,
			check.Planning(check.PlanningInput{DB: p.events, Senders: senders, Texts: p.texts(), Since: checkedSince, Sources: p.cfg.Sources})...)
	}
	result := check.Run(ctx, subjects)
	if ctx.Err() != nil {
		return
	}
	for _, mistake := range result.Mistakes {
		slog.Warn("the configuration has a mistake", "where", mistake.Where(), "problem", mistake.Problem, "next", mistake.Remedy)
	}
	slog.Info("checked the configuration; `starter check` checks it again", "mistakes", len(result.Mistakes))
}

const (
	// retryStart is the time until the first retry.
	retryStart = 2 * time.Second
	// keepInterval is the time between two checks whether a permanent workflow runs.
	keepInterval = 30 * time.Second
)

// retry calls try until it succeeds or ctx ends, at intervals that double up to longest. It logs
// each failure with the message `waiting`.
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

// keep starts a permanent workflow, and starts it again after a termination. try returns nil if the
// workflow already runs.
func keep(ctx context.Context, waiting string, try func(context.Context) error) {
	for ctx.Err() == nil {
		retry(ctx, waiting, keepInterval, try)
		select {
		case <-ctx.Done():
		case <-time.After(keepInterval):
		}
	}
}
