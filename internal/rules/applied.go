package rules

import (
	"context"
	"slices"
	"time"

	"herald/internal/db"
)

// Origin says which apply the rules of an event type come from: the last one that wrote one of them.
type Origin struct {
	EventType string // empty: the installation
	AppliedAt time.Time
	Actor     string
	Reason    string
	CommitID  string // empty: unknown
}

// maxOrigins limits the event types that [Origins] returns.
const maxOrigins = 1000

// Origins returns where the rules come from: the installation's first, then by event type. Event types
// whose rules nobody applied are missing.
func Origins(ctx context.Context, d *db.DB) ([]Origin, error) {
	const query = `
		SELECT DISTINCT ON (event_type) coalesce(event_type, '') AS event_type, applied_at, actor, reason, coalesce(commit_id, '') AS commit_id
		FROM   applied_rule
		ORDER BY event_type NULLS FIRST, applied_at DESC
		LIMIT  $1`

	return db.Collect(ctx, d.Pool, "read where the rules come from", db.ByName[Origin](), query, maxOrigins)
}

// LastChanges returns what the last apply changed in the rules of an event type; empty: the
// installation.
func LastChanges(ctx context.Context, d *db.DB, eventType string) ([]Change, error) {
	type change struct {
		TableName            string
		Key, Before, Content values
	}
	const query = `
		SELECT table_name, key, before, content
		FROM   applied_rule
		WHERE  event_type IS NOT DISTINCT FROM nullif($1, '')
		AND    applied_at = (SELECT max(applied_at) FROM applied_rule WHERE event_type IS NOT DISTINCT FROM nullif($1, ''))
		AND    before IS DISTINCT FROM content
		ORDER BY table_name, key
		LIMIT  $2`

	found, err := db.Collect(ctx, d.Pool, "read the last changes of rules", db.ByName[change](), query, eventType, db.MaxRowsPerEventType)
	changes := []Change{}
	for _, f := range found {
		i := slices.IndexFunc(tables, func(t *table) bool { return t.name == f.TableName })
		if i < 0 { // a later release wrote it
			continue
		}
		c := Change{Action: Modify, Table: f.TableName, Key: f.Key, EventType: eventType, Before: f.Before, After: f.Content, of: tables[i]}
		switch {
		case f.Before == nil:
			c.Action = Create
		case f.Content == nil:
			c.Action = Delete
		}
		changes = append(changes, c)
	}
	return changes, err
}
