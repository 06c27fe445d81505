package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"herald/internal/postgres"
)

// maxPurgeCount bounds the counting before a purge, which deletes more.
const maxPurgeCount = 100_000

// Retention is how long the rows of a table are kept.
type Retention struct {
	Table postgres.PurgeTable
	Age   time.Duration
	Text  string // the age as it was given
}

// PurgedTable is a table whose old rows are deleted.
type PurgedTable struct {
	Table     postgres.PurgeTable `json:"table"`
	OlderThan string              `json:"older_than"`
	Before    time.Time           `json:"before"`
	Matched   int                 `json:"matched"` // rows that may go
	More      bool                `json:"more"`    // there are more of them than were counted
	Deleted   int                 `json:"deleted"`
}

// PlanPurge counts the old rows that may go.
func (o *Operator) PlanPurge(ctx context.Context, kept []Retention) ([]PurgedTable, error) {
	now, err := o.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	var tables []PurgedTable
	for _, r := range kept {
		t := PurgedTable{Table: r.Table, OlderThan: r.Text, Before: now.Add(-r.Age)}
		found, err := o.Store.CountPurgeable(ctx, t.Table, t.Before, maxPurgeCount+1)
		if err != nil {
			return nil, err
		}
		t.Matched, t.More = min(found, maxPurgeCount), found > maxPurgeCount
		tables = append(tables, t)
	}
	return tables, nil
}

// Purge deletes what was planned, and counts it in tables. It calls progress after
// each batch. What it deleted before an error stays deleted.
func (o *Operator) Purge(ctx context.Context, tables []PurgedTable, progress func(PurgedTable)) error {
	var names []string
	for _, t := range tables {
		if t.Matched > 0 {
			names = append(names, string(t.Table))
		}
	}
	if err := o.Record(ctx, o.Order.Flags, names...); err != nil {
		return err
	}
	err := o.purge(ctx, tables, progress)
	for _, t := range tables {
		if t.Matched > 0 {
			err = cmp.Or(err, o.RecordChanged(ctx, fmt.Sprintf("%d rows", t.Deleted), string(t.Table)))
		}
	}
	return err
}

func (o *Operator) purge(ctx context.Context, tables []PurgedTable, progress func(PurgedTable)) error {
	for i := range tables {
		t := &tables[i]
		for from, more := (*time.Time)(nil), true; more; {
			batch, err := o.Store.PurgeNext(ctx, t.Table, t.Before, from)
			if err != nil {
				return err
			}
			t.Deleted += batch.Deleted
			from, more = batch.Through, batch.Deleted > 0
			progress(*t)
		}
	}
	return nil
}
