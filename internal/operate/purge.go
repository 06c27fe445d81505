package operate

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"herald/internal/db"
	"herald/internal/purge"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
)

// maxPurgeCount is the highest number of rows that PlanPurge counts. Purge deletes more rows.
const maxPurgeCount = 100_000

// Retention is the time that the rows of a table are kept.
type Retention struct {
	Table  purge.Table
	Source *relay.Source // the outbox of the table; nil: a table of Herald's
	Age    time.Duration
	Text   string // the age as the operator wrote it
}

// PurgedTable is the progress of a purge of one table.
type PurgedTable struct {
	Table     purge.Table `json:"table"`
	OlderThan string      `json:"older_than"`
	Before    time.Time   `json:"before"`
	Matched   int         `json:"matched"` // rows that may be deleted, up to maxPurgeCount
	More      bool        `json:"more"`    // there are more rows than were counted
	Deleted   int         `json:"deleted"`

	cleaner Cleaner
	age     time.Duration
}

// Cleaner deletes old rows of one table that are done.
type Cleaner interface {
	Count(ctx context.Context, age time.Duration, limit int) (int, error)
	Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error
}

// PlanPurge counts the old rows that may be deleted: in the table of an outbox, the rows that are
// done for longer than the retention. Purge deletes them as the schedule does.
func (o *Operator) PlanPurge(ctx context.Context, kept []Retention) (tables []PurgedTable, err error) {
	now, err := o.DB.Now(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range kept {
		// The operator's settings may lack the topic of the outbox.
		table := PurgedTable{
			Table: r.Table, OlderThan: r.Text, Before: now.Add(-r.Age), age: r.Age,
			cleaner: purge.TableCleaner{Store: o.DB, Table: r.Table, HasTopic: true},
		}
		if r.Source != nil {
			table.Table, table.cleaner = SourceCleaner(o.DB, *r.Source)
		}
		found, err := table.cleaner.Count(ctx, r.Age, maxPurgeCount+1)
		if err != nil {
			return nil, err
		}
		table.Matched, table.More = min(found, maxPurgeCount), found > maxPurgeCount
		tables = append(tables, table)
	}
	return tables, nil
}

// SourceCleaner returns the table of an outbox, and its cleaner.
func SourceCleaner(db *db.DB, source relay.Source) (purge.Table, Cleaner) {
	if source.IsHerald() {
		return purge.Outbox, purge.TableCleaner{Store: db, Table: purge.Outbox, HasTopic: source.Kafka != nil}
	}
	rows := relay.Cleaner{Source: source, Store: relay.On(db), Open: func(ctx context.Context, source relay.Source) (relay.DoneTable, error) {
		return dialects.Open(ctx, source)
	}}
	refused := fmt.Sprintf("%s; deleting takes GRANT DELETE ON %s", seeCheck(source), source.Table)
	return purge.Table(source.Table), sourceCleaner{rows, refused}
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
			err = t.cleaner.Clean(ctx, t.age, "", func(deleted int, _ string) bool {
				t.Deleted += deleted
				progress(*t)
				return true
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

// sourceCleaner adds the remedy to errors of the source's database.
type sourceCleaner struct {
	relay.Cleaner
	refused string
}

func (c sourceCleaner) Count(ctx context.Context, age time.Duration, limit int) (int, error) {
	count, err := c.Cleaner.Count(ctx, age, limit)
	return count, ofSource(err, c.refused)
}

func (c sourceCleaner) Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	return ofSource(c.Cleaner.Clean(ctx, age, after, said), c.refused)
}
