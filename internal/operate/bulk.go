package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"
)

const (
	// bulkAtOnce is the number of concurrent changes. It keeps Temporal busy, and leaves room for
	// the deliveries.
	bulkAtOnce = 8
	bulkPage   = 500
	// previewed is the number of selected rows that a dry run looks at.
	previewed = 10
	// changeTimeout is far longer than one change takes, including the wait for its end.
	changeTimeout = 2 * time.Minute
	maxErrors     = 10
)

// Selection is the set of rows that a verb changes, in the order of their keys. It does not include
// rows that are written after it was made.
type Selection struct {
	Matched int
	After   string // the run begins after this key; empty: at the first key
	Named   bool   // the user named the ids
	page    func(ctx context.Context, after string, limit int) ([]item, error)
}

// item is one selected delivery or event.
type item struct{ key, id string }

// SelectIDs selects the given ids, each once.
func SelectIDs(ids []string) Selection {
	var items []item
	for _, id := range ids {
		if one := (item{id: id}); !slices.Contains(items, one) {
			items = append(items, one)
		}
	}
	return Selection{Matched: len(items), Named: true, page: func(context.Context, string, int) ([]item, error) { return items, nil }}
}

// Summary counts the outcomes of a run over a selection.
type Summary struct {
	Matched int       `json:"matched"`
	DryRun  bool      `json:"dry_run,omitempty"`
	Done    int       `json:"done"`
	Skipped Skips     `json:"skipped"`
	Failed  int       `json:"failed"`
	Through string    `json:"through,omitempty"` // of a filter: all items up to this key are done
	Items   []Outcome `json:"items,omitzero"`    // all named items, or the first items of a dry run
	Errors  []string  `json:"errors,omitempty"`  // the first maxErrors errors
}

// Skips counts the items that were not changed, by the code of their outcome.
type Skips map[Code]int

// Tried counts the items that were changed, that were skipped, and that failed.
func (s Summary) Tried() int {
	tried := s.Done + s.Failed
	for _, skipped := range s.Skipped {
		tried += skipped
	}
	return tried
}

// bulk is one run of a verb over a selection.
type bulk struct {
	operator *Operator
	verb     Verb
	dryRun   bool
	progress func(Summary)
	listing  bool // keep the outcome of each item, not only the counts

	mu      sync.Mutex
	summary Summary
}

// Do runs a verb over a selection. After each item it calls progress, which may be nil and must not
// keep the summary. A failure of one item does not stop the others. If err is not nil, the run
// stopped early, and another call can continue after Through.
func (o *Operator) Do(ctx context.Context, verb Verb, to Selection, progress func(Summary)) (Summary, error) {
	b := &bulk{operator: o, verb: verb, progress: progress, summary: Summary{Matched: to.Matched, Skipped: Skips{}, Through: to.After}}
	if to.Named {
		return b.listed(ctx, to, to.Matched)
	}
	if to.Matched > 0 {
		if err := o.Record(ctx, "matched "+verb.Noun.count(to.Matched), o.Order.Flags); err != nil {
			return b.summary, err
		}
	}
	err := b.pages(ctx, to)
	if to.Matched > 0 {
		changed := fmt.Sprintf("%d of %s", b.summary.Done, verb.Noun.count(to.Matched))
		err = cmp.Or(err, o.RecordChanged(ctx, changed, o.Order.Flags))
	}
	return b.summary, err
}

// pages runs the verb over all pages of a selection.
func (b *bulk) pages(ctx context.Context, to Selection) error {
	for {
		page, err := to.page(ctx, b.summary.Through, bulkPage)
		if err == nil && len(page) > 0 {
			err = b.all(ctx, page)
		}
		if err != nil || len(page) == 0 {
			return err
		}
	}
}

// DryRun returns the outcomes that a verb would have, and changes nothing. It looks at all named
// items, or at the first items of a filter.
func (o *Operator) DryRun(ctx context.Context, verb Verb, to Selection) (Summary, error) {
	b := &bulk{operator: o, verb: verb, dryRun: true, summary: Summary{Matched: to.Matched, DryRun: true, Skipped: Skips{}}}
	if to.Named {
		return b.listed(ctx, to, to.Matched)
	}
	summary, err := b.listed(ctx, to, previewed)
	for _, outcome := range summary.Items {
		err = cmp.Or(err, outcome.Err)
	}
	return Summary{Matched: to.Matched, DryRun: true, Skipped: Skips{}, Items: summary.Items}, err
}

// listed runs the verb over the first items of a selection, and lists the outcomes in the order of
// the items.
func (b *bulk) listed(ctx context.Context, of Selection, limit int) (Summary, error) {
	items, err := of.page(ctx, of.After, limit)
	b.listing, b.summary.Items = true, make([]Outcome, len(items))
	if err == nil {
		err = b.all(ctx, items)
	}
	b.summary.Items = slices.DeleteFunc(b.summary.Items, func(o Outcome) bool { return o.ID == "" }) // the item was not tried
	return b.summary, err
}

// all runs the verb over several items concurrently. A failure of one item does not stop the
// others, but a server that is out of reach does.
func (b *bulk) all(ctx context.Context, items []item) error {
	through, next := make([]bool, len(items)), 0
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(bulkAtOnce)
	for i, item := range items {
		if running.Err() != nil {
			break
		}
		group.Go(func() error {
			outcome, err := b.one(running, item.id)
			if err != nil {
				return err
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			b.count(outcome)
			if b.listing {
				b.summary.Items[i] = outcome
			}
			for through[i] = true; next < len(items) && through[next]; next++ {
				b.summary.Through = items[next].key
			}
			if b.progress != nil {
				b.progress(b.summary)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// one runs the verb on one item. Its error stops the run.
func (b *bulk) one(ctx context.Context, id string) (Outcome, error) {
	if err := context.Cause(ctx); err != nil {
		return Outcome{}, err
	}
	limited, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	outcome, err := b.change(limited, id)
	if err != nil && (ctx.Err() != nil || outOfReach(err)) {
		return Outcome{}, err
	}
	if err != nil {
		outcome = Outcome{ID: id, Code: Failed, Err: err}
	}
	return outcome, nil
}

// change plans the verb for one item and carries out the plan. A dry run only plans.
func (b *bulk) change(ctx context.Context, id string) (Outcome, error) {
	plan, err := b.verb.plan(b.operator, ctx, id)
	if err != nil || plan.do == nil || b.dryRun {
		return plan.expected, err
	}
	if err := b.operator.Record(ctx, b.operator.Order.Flags, id); err != nil {
		return Outcome{}, err
	}
	return plan.do(ctx)
}

// outOfReach reports whether an error concerns all items, so that the next item would fail too.
// When a server goes away, Temporal's client retries until the timeout, and then returns
// DeadlineExceeded.
func outOfReach(err error) bool {
	return errors.As(err, new(*serviceerror.Unavailable)) || errors.As(err, new(*serviceerror.DeadlineExceeded)) ||
		errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*pgconn.ConnectError))
}

func (b *bulk) count(outcome Outcome) {
	switch {
	case outcome.Err != nil:
		b.summary.Failed++
		if len(b.summary.Errors) < maxErrors {
			b.summary.Errors = append(b.summary.Errors, outcome.ID+": "+outcome.Err.Error())
		}
	case outcome.Done():
		b.summary.Done++
	default:
		b.summary.Skipped[outcome.Code]++
	}
}
