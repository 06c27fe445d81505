package relay

import (
	"context"
	"time"
)

// Cleaner deletes the finished rows of another service's outbox. A row is finished if it is sent and its
// event has ended. Pending and failed rows stay.
type Cleaner struct {
	Source Source
	Store  CleanStore
	Open   func(ctx context.Context, source Source) (DoneTable, error)
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
	// HeldEvents returns the given events whose rows must stay.
	HeldEvents(ctx context.Context, source string, ids []string) ([]string, error)
	ForgetRows(ctx context.Context, source string, keys []string) error
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
	return c.eachBatch(ctx, age, after, func(ctx context.Context, table DoneTable, keys []string, next string) (bool, error) {
		if len(keys) == 0 {
			return said(0, next), nil
		}
		if err := c.Store.ForgetRows(ctx, c.Source.Name, keys); err != nil { // first, because nothing would forget a deleted row later
			return false, err
		}
		deleted, err := table.DeleteDone(ctx, keys, age)
		return err == nil && said(deleted, next), err
	})
}

// Count counts the rows that Clean would delete, up to a limit.
func (c Cleaner) Count(ctx context.Context, age time.Duration, limit int) (int, error) {
	count := 0
	err := c.eachBatch(ctx, age, "", func(_ context.Context, _ DoneTable, keys []string, _ string) (bool, error) {
		count += len(keys)
		return count < limit, nil
	})
	return min(count, limit), err
}

// eachBatch calls see with the keys of deletable rows, one batch at a time. It stops when no rows
// remain or see returns false. The table is open only during the call.
func (c Cleaner) eachBatch(
	ctx context.Context, age time.Duration, after string,
	see func(ctx context.Context, table DoneTable, keys []string, next string) (more bool, err error),
) error {
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
