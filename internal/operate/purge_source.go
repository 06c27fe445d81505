package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// PlanSourcePurge counts the rows that may leave the table of an outbox: those that are
// done for longer than an age, which is given as a text, too.
func (o *Operator) PlanSourcePurge(ctx context.Context, source outboxes.Source, age time.Duration, text string) (PurgedTable, error) {
	now, err := o.Store.Now(ctx)
	if err != nil {
		return PurgedTable{}, err
	}
	found, err := o.outbox(source).Count(ctx, age, maxPurgeCount+1)
	return PurgedTable{
		Table: tableOf(source), OlderThan: text, Before: now.Add(-age), Matched: min(found, maxPurgeCount), More: found > maxPurgeCount,
	}, unpurged(source, err)
}

// PurgeSource deletes what was planned, and counts it in table, as the schedule does. It
// calls progress after each batch. What it deleted before an error stays deleted.
func (o *Operator) PurgeSource(ctx context.Context, source outboxes.Source, age time.Duration, table *PurgedTable, progress func(PurgedTable)) error {
	if table.Matched == 0 {
		return nil
	}
	if err := o.Record(ctx, o.Order.Flags, string(table.Table)); err != nil {
		return err
	}
	err := o.outbox(source).Clean(ctx, age, "", func(deleted int, _ string) bool {
		table.Deleted += deleted
		progress(*table)
		return true
	})
	return cmp.Or(unpurged(source, err), o.RecordChanged(ctx, fmt.Sprintf("%d rows", table.Deleted), string(table.Table)))
}

func (o *Operator) outbox(source outboxes.Source) outboxes.Cleaner {
	return outboxes.Cleaner{Source: source, Store: o.Store, Open: func(ctx context.Context, source outboxes.Source) (outboxes.DoneTable, error) {
		return dialects.Open(ctx, source)
	}}
}

// tableOf is the table of a source; Herald's own entry names none.
func tableOf(source outboxes.Source) postgres.PurgeTable {
	if source.Name == notification.HeraldSource {
		return postgres.PurgeOutbox
	}
	return postgres.PurgeTable(source.Table)
}

// unpurged says what to do about an error of a source's own database.
func unpurged(source outboxes.Source, err error) error {
	var refused *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case err == nil || source.Name == notification.HeraldSource:
		return err
	case errors.As(err, &connect):
		return advice.With(err, "start the database, or set the variable that `database_url_env:` names to where it is")
	case errors.As(err, &refused):
		return advice.With(err, fmt.Sprintf("see `starter source check %s`; deleting takes GRANT DELETE ON %s", source.Name, source.Table))
	default:
		return err
	}
}
