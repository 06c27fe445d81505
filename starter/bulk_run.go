package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"

	"herald/internal/console"
)

const (
	// bulkAtOnce is how many are changed at once: enough to keep Temporal busy,
	// too few to take it from the deliveries.
	bulkAtOnce = 8
	bulkPage   = 500
	// changeTimeout is far above what changing one and waiting for it takes.
	changeTimeout = 2 * time.Minute
	maxErrors     = 10
)

// bulkRun is a job at work.
type bulkRun struct {
	app   *app
	job   job
	keep  int // how many outcomes to keep
	total int

	mu      sync.Mutex
	changes changes
	failure error // the first
}

func newBulkRun(a *app, j job, total int) *bulkRun {
	return &bulkRun{
		app: a, job: j, total: total,
		changes: changes{Matched: total, DryRun: j.flags.dryRun, Skipped: map[string]int{}, Through: j.flags.after},
	}
}

// pages changes a selection page by page.
func (r *bulkRun) pages(ctx context.Context, of selection) error {
	for {
		page, err := of.page(ctx, r.changes.Through, bulkPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil
		}
		if err := r.all(ctx, page); err != nil {
			return err
		}
	}
}

// all changes items, several at once. What fails with one of them does not stop
// the others; a server that is out of reach does.
func (r *bulkRun) all(ctx context.Context, items []item) error {
	through, next := make([]bool, len(items)), 0
	group, grouped := errgroup.WithContext(ctx)
	group.SetLimit(bulkAtOnce)
	for i, item := range items {
		if grouped.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := r.one(grouped, item); err != nil {
				return err
			}
			r.mu.Lock()
			defer r.mu.Unlock()
			for through[i] = true; next < len(items) && through[next]; next++ {
				r.changes.Through = items[next].key
			}
			return nil
		})
	}
	err := group.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	return err
}

// one changes one item. Its error stops the others.
func (r *bulkRun) one(ctx context.Context, item item) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	outcome, err := r.change(limited, item.id)
	if err != nil && (ctx.Err() != nil || outOfReach(err)) {
		return err
	}
	r.count(item, outcome, err)
	return nil
}

// change does what is planned for one, or says what would be done.
func (r *bulkRun) change(ctx context.Context, id string) (outcome, error) {
	plan, err := r.job.plan(ctx, id)
	if err != nil || plan.do == nil || r.job.flags.dryRun {
		return plan.would, err
	}
	if err := r.job.record(ctx, id, r.app.called.flags); err != nil {
		return outcome{}, err
	}
	return plan.do(ctx)
}

// outOfReach says that an error is not about one item: the next would end alike.
// A Temporal that went away is asked again until the time is over, and is then
// late rather than unavailable.
func outOfReach(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var connect *pgconn.ConnectError
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &connect)
}

func (r *bulkRun) count(item item, outcome outcome, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err != nil:
		r.changes.Failed++
		if r.failure == nil {
			r.failure = err
		}
		if len(r.changes.Errors) < maxErrors {
			r.changes.Errors = append(r.changes.Errors, fmt.Sprintf("%s: %v", item.id, err))
		}
		outcome.ID, outcome.Result, outcome.Detail, outcome.next = item.id, "error", err.Error(), r.app.nextStep(err)
	case outcome.Done:
		r.changes.Done++
	default:
		r.changes.Skipped[outcome.Result]++
	}
	if len(r.changes.Items) < r.keep {
		r.changes.Items = append(r.changes.Items, outcome)
	}
}

// progress is a line about how far it is.
func (r *bulkRun) progress() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	line := fmt.Sprintf("%s of %s", console.Grouped(r.through()), r.job.noun.count(r.total))
	if r.changes.Through != "" {
		line += ", up to " + r.changes.Through
	}
	return line
}

// through is how many were changed, or could not be.
func (r *bulkRun) through() int {
	count := r.changes.Done + r.changes.Failed
	for _, skipped := range r.changes.Skipped {
		count += skipped
	}
	return count
}
