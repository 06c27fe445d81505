package operate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"
)

const (
	// bulkAtOnce is how many are changed at once: enough to keep Temporal busy, and
	// few enough to leave room for the deliveries.
	bulkAtOnce = 8
	bulkPage   = 500
	// previewed is how many of a selection a dry run looks at.
	previewed = 10
	// changeTimeout is far above what changing one and waiting for it takes.
	changeTimeout = 2 * time.Minute
	maxErrors     = 10
)

// Options say how a verb is done to many.
type Options struct {
	DryRun   bool
	Progress func(tried int, through string) // called after each, one call at a time; nil: by nobody
}

// Selection is the rows that a filter names, in the order of a key of theirs.
// Rows that are written after it was made are left alone.
type Selection struct {
	Matched int
	After   string // the key behind which to begin; empty: with the first
	page    func(ctx context.Context, after string, limit int) ([]item, error)
}

// item is one of many.
type item struct{ key, id string }

// Summary is what became of many.
type Summary struct {
	Matched int            `json:"matched"`
	DryRun  bool           `json:"dry_run,omitempty"`
	Done    int            `json:"done"`
	Skipped map[string]int `json:"skipped"` // by why
	Failed  int            `json:"failed"`
	Through string         `json:"through,omitempty"` // of a selection: the key up to which all are through
	Items   []Outcome      `json:"items,omitzero"`    // those that were named, or the first of a dry run
	Errors  []string       `json:"errors,omitempty"`  // the first of them
}

// Tried is how many were changed, were left alone or could not be changed.
func (s Summary) Tried() int {
	tried := s.Done + s.Failed
	for _, skipped := range s.Skipped {
		tried += skipped
	}
	return tried
}

// bulk is a verb at work on many.
type bulk struct {
	Options
	operator *Operator
	verb     Verb
	outcomes map[string]Outcome // by id; nil: they are counted alone

	mu      sync.Mutex
	summary Summary
}

func (o *Operator) bulk(verb Verb, options Options, matched int) *bulk {
	return &bulk{Options: options, operator: o, verb: verb, summary: Summary{Matched: matched, DryRun: options.DryRun, Skipped: map[string]int{}}}
}

// Named does a verb to those that are named by their ids. An error of one of them
// is in its outcome; the error returned is what stopped the others.
func (o *Operator) Named(ctx context.Context, verb Verb, ids []string, options Options) (Summary, error) {
	var items []item
	for _, id := range ids {
		if once := (item{id: id}); !slices.Contains(items, once) {
			items = append(items, once)
		}
	}
	b := o.bulk(verb, options, len(items))
	err := b.keep(ctx, items)
	return b.summary, err
}

// Selected does a verb to a selection. A dry run looks at its first rows alone.
// Where the run is stopped, Through of the summary is where another may go on.
func (o *Operator) Selected(ctx context.Context, verb Verb, of Selection, options Options) (Summary, error) {
	b := o.bulk(verb, options, of.Matched)
	if options.DryRun {
		items, err := of.page(ctx, of.After, previewed)
		if err != nil {
			return b.summary, err
		}
		err = b.keep(ctx, items)
		for _, outcome := range b.summary.Items {
			err = cmp.Or(err, outcome.Err)
		}
		return Summary{Matched: of.Matched, DryRun: true, Skipped: map[string]int{}, Items: b.summary.Items}, err
	}
	if of.Matched > 0 {
		if err := o.Record(ctx, "matched "+verb.Noun.count(of.Matched), o.Order.Flags); err != nil {
			return b.summary, err
		}
	}
	b.summary.Through = of.After
	for {
		page, err := of.page(ctx, b.summary.Through, bulkPage)
		if err == nil && len(page) > 0 {
			err = b.all(ctx, page)
		}
		if err != nil || len(page) == 0 {
			return b.summary, err
		}
	}
}

// keep does the verb to items, and keeps the outcomes in the order of the items.
func (b *bulk) keep(ctx context.Context, items []item) error {
	b.outcomes, b.summary.Items = map[string]Outcome{}, []Outcome{}
	err := b.all(ctx, items)
	for _, item := range items {
		if outcome, tried := b.outcomes[item.id]; tried {
			b.summary.Items = append(b.summary.Items, outcome)
		}
	}
	return err
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
			for through[i] = true; next < len(items) && through[next]; next++ {
				b.summary.Through = items[next].key
			}
			if b.Progress != nil {
				b.Progress(b.summary.Tried(), b.summary.Through)
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
	if err != nil || plan.do == nil || b.DryRun {
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
	if b.outcomes != nil {
		b.outcomes[outcome.ID] = outcome
	}
}
