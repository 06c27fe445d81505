package main

import (
	"context"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// newCleaners has one for each source: which of them clean, and when, is in the schedule.
func newCleaners(cfg config.Config, db *postgres.Store) map[string]activities.Cleaner {
	open := func(ctx context.Context, source outboxes.Source) (outboxes.DoneTable, error) {
		return dialects.Open(ctx, source)
	}
	cleaners := map[string]activities.Cleaner{}
	for _, source := range cfg.Sources {
		cleaners[source.Name] = outboxes.Cleaner{Source: source, Store: db, Open: open}
	}
	return cleaners
}

// retentions are the sources whose rows leave, and how long they are kept.
func retentions(cfg config.Config) (outboxes []activities.CleanOutboxInput) {
	for _, source := range cfg.Sources {
		if source.Retention > 0 {
			outboxes = append(outboxes, activities.CleanOutboxInput{Source: source.Name, Retention: source.Retention})
		}
	}
	return outboxes
}
