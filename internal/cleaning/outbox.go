// Package cleaning deletes the rows of outboxes that are done, from the tables of other
// services and from Herald's own. The schedule and the operator's command delete by it.
package cleaning

import (
	"context"
	"fmt"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/source"
)

// Outbox is one whose rows leave once they are done: sent, and their event acknowledged and
// ended. Those that are pending or failed stay.
type Outbox struct {
	Source notification.SourceConfig
	Store  *postgres.Store // Herald's own database
}

const (
	// batchSize is how many rows one statement deletes.
	batchSize = 500
	// batchTimeout bounds the statements of one batch, where a server does not answer.
	batchTimeout = time.Minute
)

// Clean deletes rows that are done for longer than an age, the oldest first, behind a
// cursor; empty: all of them. It says after each batch how many rows went, and the cursor
// behind them, and ends where that returns false. What went before an error is gone.
func (o Outbox) Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	if o.Source.Name == notification.HeraldSource {
		return o.cleanOwn(ctx, age, after, said)
	}
	return o.eachBatch(ctx, age, after, func(ctx context.Context, table *source.Table, keys []string, next string) (bool, error) {
		if len(keys) == 0 {
			return said(0, next), nil
		}
		deleted, err := table.DeleteDone(ctx, keys, age)
		return err == nil && said(deleted, next), err
	})
}

// Count counts the rows that Clean would delete, up to a limit.
func (o Outbox) Count(ctx context.Context, age time.Duration, limit int) (count int, err error) {
	if o.Source.Name == notification.HeraldSource {
		now, err := o.Store.Now(ctx)
		if err != nil {
			return 0, err
		}
		return o.Store.CountPurgeable(ctx, postgres.PurgeOutbox, now.Add(-age), limit)
	}
	err = o.eachBatch(ctx, age, "", func(_ context.Context, _ *source.Table, keys []string, _ string) (bool, error) {
		count += len(keys)
		return count < limit, nil
	})
	return min(count, limit), err
}

// eachBatch calls see with the keys of rows that may go, batch by batch, until there are no
// more or it returns false. The table is open for that time alone.
func (o Outbox) eachBatch(ctx context.Context, age time.Duration, after string, see func(ctx context.Context, table *source.Table, keys []string, next string) (more bool, err error)) error {
	table, err := source.Open(ctx, o.Source)
	if err != nil {
		return err
	}
	defer table.Close()
	batch := func(ctx context.Context) (more bool, err error) {
		ctx, cancel := context.WithTimeout(ctx, batchTimeout)
		defer cancel()
		done, err := table.Done(ctx, after, age, batchSize)
		if err != nil || len(done) == 0 {
			return false, err
		}
		free, err := o.free(ctx, done)
		if err != nil {
			return false, err
		}
		after = done[len(done)-1].Cursor
		return see(ctx, table, free, after)
	}
	for more := true; more; {
		if more, err = batch(ctx); err != nil {
			return err
		}
	}
	return nil
}

// free are the keys of the rows that no event holds.
func (o Outbox) free(ctx context.Context, done []notification.SourceKey) ([]string, error) {
	var ids []string
	for _, row := range done {
		ids = append(ids, o.Source.EventIDs(row.Key)...)
	}
	events, err := o.Store.HeldEvents(ctx, o.Source.Name, ids)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, id := range events {
		held[o.Source.Key(id)] = true
	}
	var free []string
	for _, row := range done {
		if !held[row.Key] {
			free = append(free, row.Key)
		}
	}
	return free, nil
}

// cleanOwn purges event_outbox. Its cursor is the time that a row was written.
func (o Outbox) cleanOwn(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	now, err := o.Store.Now(ctx)
	if err != nil {
		return err
	}
	var from *time.Time
	if after != "" {
		at, err := time.Parse(time.RFC3339Nano, after)
		if err != nil {
			return fmt.Errorf("read where to go on: %w", err)
		}
		from = &at
	}
	for {
		batch, err := o.purge(ctx, now.Add(-age), from)
		if err != nil || batch.Deleted == 0 {
			return err
		}
		if from = batch.Through; !said(batch.Deleted, from.Format(time.RFC3339Nano)) {
			return nil
		}
	}
}

func (o Outbox) purge(ctx context.Context, before time.Time, from *time.Time) (postgres.PurgeResult, error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	return o.Store.PurgeNext(ctx, postgres.PurgeOutbox, before, from)
}
