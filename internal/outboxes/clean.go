package outboxes

import (
	"context"
	"fmt"
	"time"
)

// Cleaner deletes the finished rows of an outbox: they are sent, and their event has ended.
// Pending and failed rows stay.
type Cleaner struct {
	Source Source
	Store  CleanStore
	Open   func(ctx context.Context, source Source) (DoneTable, error) // not used for Herald's own outbox
}

// DoneTable is an outbox table of another service.
type DoneTable interface {
	// Done returns rows after a cursor that were done for longer than age.
	Done(ctx context.Context, after string, age time.Duration, limit int) ([]Key, error)
	DeleteDone(ctx context.Context, keys []string, age time.Duration) (deleted int, err error)
	Close()
}

// CleanStore is Herald's own database.
type CleanStore interface {
	Now(ctx context.Context) (time.Time, error)
	// HeldEvents returns the given events whose rows must stay.
	HeldEvents(ctx context.Context, source string, ids []string) ([]string, error)
	ForgetRows(ctx context.Context, source string, keys []string) error
	// PurgeOutbox deletes rows of event_outbox in [from, before); nil: from the oldest row.
	// through is the time of the last deleted row. If the outbox has no topic, it also deletes
	// events that no topic got.
	PurgeOutbox(ctx context.Context, hasTopic bool, before time.Time, from *time.Time) (deleted int, through *time.Time, err error)
	CountOutbox(ctx context.Context, hasTopic bool, before time.Time, limit int) (int, error)
}

const (
	// batchSize is the number of rows that one statement deletes.
	batchSize = 500
	// batchTimeout limits the statements of one batch if a server does not answer.
	batchTimeout = time.Minute
)

// Clean deletes rows that were done for longer than age, the oldest first, after a cursor; empty:
// from the first row. After each batch it calls said with the number of deleted rows and the
// cursor. It stops if said returns false. Rows deleted before an error stay deleted.
func (c Cleaner) Clean(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	if c.Source.IsHerald() {
		return c.cleanOwn(ctx, age, after, said)
	}
	return c.eachBatch(ctx, age, after, func(ctx context.Context, table DoneTable, keys []string, next string) (bool, error) {
		if len(keys) == 0 {
			return said(0, next), nil
		}
		deleted, err := table.DeleteDone(ctx, keys, age)
		if err == nil {
			err = c.Store.ForgetRows(ctx, c.Source.Name, keys)
		}
		return err == nil && said(deleted, next), err
	})
}

// Count counts the rows that Clean would delete, up to a limit.
func (c Cleaner) Count(ctx context.Context, age time.Duration, limit int) (count int, err error) {
	if c.Source.IsHerald() {
		now, err := c.Store.Now(ctx)
		if err != nil {
			return 0, err
		}
		return c.Store.CountOutbox(ctx, c.Source.Kafka != nil, now.Add(-age), limit)
	}
	err = c.eachBatch(ctx, age, "", func(_ context.Context, _ DoneTable, keys []string, _ string) (bool, error) {
		count += len(keys)
		return count < limit, nil
	})
	return min(count, limit), err
}

// eachBatch calls see with the keys of deletable rows, one batch at a time. It stops when no rows
// remain or see returns false. The table is open only during the call.
func (c Cleaner) eachBatch(ctx context.Context, age time.Duration, after string, see func(ctx context.Context, table DoneTable, keys []string, next string) (more bool, err error)) error {
	table, err := c.Open(ctx, c.Source)
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
		free, err := c.free(ctx, done)
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

// free returns the keys of the rows that no event holds.
func (c Cleaner) free(ctx context.Context, done []Key) ([]string, error) {
	ids := make([]string, len(done))
	for i, row := range done {
		ids[i] = c.Source.EventID(row.Key)
	}
	events, err := c.Store.HeldEvents(ctx, c.Source.Name, ids)
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, id := range events {
		held[c.Source.keyOf(id)] = true
	}
	var free []string
	for _, row := range done {
		if !held[row.Key] {
			free = append(free, row.Key)
		}
	}
	return free, nil
}

// cleanOwn purges event_outbox. Its cursor is the creation time of a row.
func (c Cleaner) cleanOwn(ctx context.Context, age time.Duration, after string, said func(deleted int, after string) bool) error {
	now, err := c.Store.Now(ctx)
	if err != nil {
		return err
	}
	var from *time.Time
	if after != "" {
		at, err := time.Parse(time.RFC3339Nano, after)
		if err != nil {
			return fmt.Errorf("read the cursor: %w", err)
		}
		from = &at
	}
	for {
		deleted, through, err := c.purge(ctx, now.Add(-age), from)
		if err != nil || deleted == 0 {
			return err
		}
		if from = through; !said(deleted, from.Format(time.RFC3339Nano)) {
			return nil
		}
	}
}

func (c Cleaner) purge(ctx context.Context, before time.Time, from *time.Time) (deleted int, through *time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	return c.Store.PurgeOutbox(ctx, c.Source.Kafka != nil, before, from)
}
