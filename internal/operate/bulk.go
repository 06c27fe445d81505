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
	// bulkAtOnce is the number of changes at once: enough to keep Temporal busy, and
	// few enough to leave room for the deliveries.
	bulkAtOnce = 8
	bulkPage   = 500
	// previewed is the number of selected rows that a dry run looks at.
	previewed = 10
	// changeTimeout is far above what changing one and waiting for it takes.
	changeTimeout = 2 * time.Minute
	maxErrors     = 10
)

// Selection holds the rows for a verb, in the order of their key. Rows
// that are written after it was made are left alone.
type Selection struct {
	Matched int
	After   string // the key behind which to begin; empty: with the first
	Named   bool   // by their ids
	page    func(ctx context.Context, after string, limit int) ([]item, error)
}

// item is one of many.
type item struct{ key, id string }

// SelectIDs selects what is named by ids, each once.
func SelectIDs(ids []string) Selection {
	var items []item
	for _, id := range ids {
		if one := (item{id: id}); !slices.Contains(items, one) {
			items = append(items, one)
		}
	}
	return Selection{Matched: len(items), Named: true, page: func(context.Context, string, int) ([]item, error) { return items, nil }}
}

// Summary counts the outcomes of many.
type Summary struct {
	Matched int            `json:"matched"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Done    int            `json:"done"`
	Skipped map[string]int `json:"skipped"` // by why
	Failed  int            `json:"failed"`
	Through string         `json:"through,omitempty"` // of a filter: the key up to which all are through
	Items   []Outcome      `json:"items,omitzero"`    // the named rows, or the first of a dry run
	Errors  []string       `json:"errors,omitempty"`  // the first of them
}

// Tried counts what was changed, what was left alone and what could not be changed.
func (s Summary) Tried() int {
	tried := s.Done + s.Failed
	for _, skipped := range s.Skipped {
		tried += skipped
	}
	return tried
}

// bulk is a verb at work on many.
type bulk struct {
	operator *Operator
	verb     Verb
	dryRun   bool
	progress func(Summary)
	listing  bool // the outcomes are kept next to their counts

	mu      sync.Mutex
	summary Summary
}

// Do does a verb to a selection. After each it calls progress, which may be nil and
// must not keep the summary. What cannot be done to one does not stop the others; the error is
// what did, and another call may continue behind Through.
func (o *Operator) Do(ctx context.Context, verb Verb, to Selection, progress func(Summary)) (Summary, error) {
	b := &bulk{operator: o, verb: verb, progress: progress, summary: Summary{Matched: to.Matched, Skipped: map[string]int{}, Through: to.After}}
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

// pages does the verb to all pages of a selection.
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

// DryRun says what a verb would do to a selection: to all that were named, or to
// the first of a filter.
func (o *Operator) DryRun(ctx context.Context, verb Verb, to Selection) (Summary, error) {
	b := &bulk{operator: o, verb: verb, dryRun: true, summary: Summary{Matched: to.Matched, DryRun: true, Skipped: map[string]int{}}}
	if to.Named {
		return b.listed(ctx, to, to.Matched)
	}
	summary, err := b.listed(ctx, to, previewed)
	for _, outcome := range summary.Items {
		err = cmp.Or(err, outcome.Err)
	}
	return Summary{Matched: to.Matched, DryRun: true, Skipped: map[string]int{}, Items: summary.Items}, err
}

// listed does the verb to the first of a selection, and lists the outcomes in their
// order.
func (b *bulk) listed(ctx context.Context, of Selection, limit int) (Summary, error) {
	items, err := of.page(ctx, of.After, limit)
	b.listing, b.summary.Items = true, make([]Outcome, len(items))
	if err == nil {
		err = b.all(ctx, items)
	}
	b.summary.Items = slices.DeleteFunc(b.summary.Items, func(o Outcome) bool { return o.ID == "" }) // it was not tried
	return b.summary, err
}

// all does the verb to items, several at once. What fails with one of them does
// not stop the others; a server that is out of reach does.
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

// one does the verb to one item. Its error stops the others.
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
		outcome = Outcome{ID: id, Result: "error", Detail: err.Error(), Err: err}
	}
	return outcome, nil
}

// change does what is planned for one, or says what would be done.
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

// outOfReach says that an error is not about one item, so that the next would end
// alike. Temporal's client asks a server that went away again until the time is
// over, and then reports that it was late.
func outOfReach(err error) bool {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	var connect *pgconn.ConnectError
	return errors.As(err, &unavailable) || errors.As(err, &late) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &connect)
}

func (b *bulk) count(outcome Outcome) {
	switch {
	case outcome.Err != nil:
		b.summary.Failed++
		if len(b.summary.Errors) < maxErrors {
			b.summary.Errors = append(b.summary.Errors, outcome.ID+": "+outcome.Detail)
		}
	case outcome.Done:
		b.summary.Done++
	default:
		b.summary.Skipped[outcome.Result]++
	}
}
