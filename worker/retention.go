package main

import (
	"time"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/operate"
	"herald/internal/purge"
)

// newCleaners returns a cleaner for each source, and for each of Herald's tables. The schedule
// determines which cleaners run, and when.
func newCleaners(cfg config.Config, db *db.DB) map[string]activities.Cleaner {
	cleaners := map[string]activities.Cleaner{}
	for _, source := range cfg.Sources {
		_, cleaners[source.Name] = operate.SourceCleaner(db, source)
	}
	for _, kept := range tableRetentions(cfg) {
		cleaners[tableCleaner(kept.table)] = purge.TableCleaner{Store: db, Table: kept.table}
	}
	return cleaners
}

// tableCleaner returns the name of the cleaner of one of Herald's tables. No source has such a name.
func tableCleaner(table purge.Table) string { return "herald." + string(table) }

// tableRetention is the time for which Herald keeps the rows of a table; 0: forever.
type tableRetention struct {
	table     purge.Table
	retention time.Duration
}

// tableRetentions returns Herald's tables except event_outbox, which is a source.
func tableRetentions(cfg config.Config) []tableRetention {
	return []tableRetention{
		{purge.Processed, cfg.RetentionEventIDs},
		{purge.Notifications, cfg.RetentionNotifications},
		{purge.Receipts, cfg.RetentionNotifications},
		{purge.Decisions, cfg.RetentionNotifications},
		{purge.Actions, cfg.RetentionActions},
		{purge.Preferences, cfg.RetentionPreferences},
	}
}

// retentions returns the sources and the tables of which Herald deletes rows that are done, and the
// time to keep the rows.
func retentions(cfg config.Config) (cleaned []activities.CleanOutboxInput) {
	for _, source := range cfg.Sources {
		if source.Retention > 0 {
			cleaned = append(cleaned, activities.CleanOutboxInput{Source: source.Name, Retention: source.Retention})
		}
	}
	for _, kept := range tableRetentions(cfg) {
		if kept.retention > 0 {
			cleaned = append(cleaned, activities.CleanOutboxInput{Source: tableCleaner(kept.table), Retention: kept.retention})
		}
	}
	return cleaned
}
