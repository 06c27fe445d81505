package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
)

// cleaner is an outbox with three batches.
type cleaner struct {
	fails error // after the last batch
	age   time.Duration
}

func (c *cleaner) Clean(_ context.Context, age time.Duration, after string, said func(int, string) bool) error {
	c.age = age
	for i, deleted := range []int{500, 0, 20} {
		if cursor := string("abc"[i]); cursor > after && !said(deleted, cursor) {
			break
		}
	}
	return c.fails
}

// The next attempt continues where a dead attempt stopped, and keeps its count. In the metrics it
// counts only the rows that it deletes itself.
func TestCleanOutbox(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		before  *activities.CleanOutboxResult
		deleted int
		counted int64
	}{
		{name: "from the beginning", deleted: 520, counted: 520},
		{name: "after a crash", before: &activities.CleanOutboxResult{Source: "orders", Deleted: 500, After: "a"}, deleted: 520, counted: 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			m, c := newMeters(), &cleaner{}
			a := &activities.Activities{Cleaners: map[string]activities.Cleaner{"orders": c}}
			env := newEnv(a, m.handler())
			if tt.before != nil {
				env.SetHeartbeatDetails(*tt.before)
			}
			result := must(execute[activities.CleanOutboxResult](env, a.CleanOutbox,
				activities.CleanOutboxInput{Source: "orders", Retention: time.Hour}))(t)

			require.Equal(t, activities.CleanOutboxResult{Source: "orders", Deleted: tt.deleted, After: "c"}, result)
			require.Equal(t, time.Hour, c.age)
			counted := int64(0)
			for _, n := range m.counted() {
				counted += n
			}
			require.Equal(t, tt.counted, counted)
		})
	}
}

// Temporal retries if the database is out of reach, but not if the worker does not know the source.
func TestCleanOutboxFailures(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	a := &activities.Activities{Cleaners: map[string]activities.Cleaner{"orders": &cleaner{fails: down}}}
	_, err := run[activities.CleanOutboxResult](a, a.CleanOutbox, activities.CleanOutboxInput{Source: "orders"})
	require.ErrorContains(t, err, down.Error())
	_, err = run[activities.CleanOutboxResult](a, a.CleanOutbox, activities.CleanOutboxInput{Source: "wallet"})
	requireFailure(t, err, activities.UnknownSource, true, 0)
}
