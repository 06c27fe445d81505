package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/dialects"
	"herald/internal/postgres"
)

// maxPurgeCount is the highest number of rows that PlanPurge counts. Purge deletes more rows.
const maxPurgeCount = 100_000

// Retention is the time that the rows of a table are kept.
type Retention struct {
	Table postgres.PurgeTable
	Age   time.Duration
	Text  string // the age as the operator wrote it
}

// PurgedTable is the progress of a purge of one table.
type PurgedTable struct {
	Table     postgres.PurgeTable `json:"table"`
	OlderThan string              `json:"older_than"`
	Before    time.Time           `json:"before"`
	Matched   int                 `json:"matched"` // rows that may be deleted, up to maxPurgeCount
	More      bool                `json:"more"`    // there are more rows than were counted
	Deleted   int                 `json:"deleted"`

	deletes deletion
}

// deletion deletes rows, and calls deleted after each batch.
type deletion func(ctx context.Context, deleted func(rows int)) error

// planned returns the plan for a table with `found` old rows.
func (r Retention) planned(now time.Time, found int, deletes deletion) PurgedTable {
	return PurgedTable{
		Table: r.Table, OlderThan: r.Text, Before: now.Add(-r.Age), Matched: min(found, maxPurgeCount), More: found > maxPurgeCount, deletes: deletes,
	}
}

// PlanPurge counts the old rows that may be deleted.
func (o *Operator) PlanPurge(ctx context.Context, kept []Retention) ([]PurgedTable, error) {
	now, err := o.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	var tables []PurgedTable
	for _, r := range kept {
		before := now.Add(-r.Age)
		found, err := o.Store.CountPurgeable(ctx, r.Table, before, maxPurgeCount+1)
		if err != nil {
			return nil, err
		}
		tables = append(tables, r.planned(now, found, func(ctx context.Context, deleted func(int)) error {
			return o.deleteRows(ctx, r.Table, before, deleted)
		}))
	}
	return tables, nil
}

func (o *Operator) deleteRows(ctx context.Context, table postgres.PurgeTable, before time.Time, deleted func(int)) error {
	for from, more := (*time.Time)(nil), true; more; {
		batch, err := o.Store.PurgeNext(ctx, table, before, from)
		if err != nil {
			return err
		}
		from, more = batch.Through, batch.Deleted > 0
		deleted(batch.Deleted)
	}
	return nil
}

// Purge deletes the planned rows, and counts them in tables. It calls progress after each batch.
// Rows that were deleted before an error stay deleted.
func (o *Operator) Purge(ctx context.Context, tables []PurgedTable, progress func(PurgedTable)) error {
	var names []string
	for _, t := range tables {
		if t.Matched > 0 {
			names = append(names, string(t.Table))
		}
	}
	err := o.Record(ctx, o.Order.Flags, names...)
	for i := range tables {
		t := &tables[i]
		if err == nil {
			err = t.deletes(ctx, func(rows int) {
				t.Deleted += rows
				progress(*t)
			})
		}
	}
	for _, t := range tables {
		if t.Deleted > 0 {
			err = cmp.Or(err, o.RecordChanged(ctx, fmt.Sprintf("%d rows", t.Deleted), string(t.Table)))
		}
	}
	return err
}

// PlanSourcePurge counts the rows that may be deleted from the table of an outbox: rows that are
// done for longer than the retention. Purge deletes them as the schedule does.
func (o *Operator) PlanSourcePurge(ctx context.Context, source outboxes.Source, kept Retention) ([]PurgedTable, error) {
	now, err := o.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	kept.Table = tableOf(source)
	refused := fmt.Sprintf("%s; deleting takes GRANT DELETE ON %s", seeCheck(source), kept.Table)
	cleaner := outboxes.Cleaner{Source: source, Store: o.Store, Open: func(ctx context.Context, source outboxes.Source) (outboxes.DoneTable, error) {
		return dialects.Open(ctx, source)
	}}
	found, err := cleaner.Count(ctx, kept.Age, maxPurgeCount+1)
	if err != nil {
		return nil, ofSource(err, refused)
	}
	return []PurgedTable{kept.planned(now, found, func(ctx context.Context, deleted func(int)) error {
		err := cleaner.Clean(ctx, kept.Age, "", func(rows int, _ string) bool {
			deleted(rows)
			return true
		})
		return ofSource(err, refused)
	})}, nil
}

// tableOf returns the table of a source. The config of Herald's outbox names no table.
func tableOf(source outboxes.Source) postgres.PurgeTable {
	if source.Name == notification.HeraldSource {
		return postgres.PurgeOutbox
	}
	return postgres.PurgeTable(source.Table)
}
