package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
)

// EventLauncher starts the workflow of an event. Starting one that was started
// before, running or closed, is no error; where another workflow has its id, the
// error is a [notification.IDTakenError].
type EventLauncher interface {
	StartEvent(ctx context.Context, event notification.PendingEvent) error
}

const (
	// claimLease is the time that the events of a dead poller wait for another. It
	// is far above what a batch takes.
	claimLease = 30 * time.Second
	// maxClaims is the number of times that an event may be claimed without an end before it
	// is held to be the cause.
	maxClaims = 10
	// startsAtOnce bounds the concurrent starts of one batch.
	startsAtOnce = 16
	startTimeout = 5 * time.Second
)

// batchResult holds the ends of one batch's claims.
type batchResult struct {
	claimed int
	ended   map[notification.ClaimOutcome]int
	cause   string // why events were given back
}

// batch claims, starts and marks one batch. No transaction is open while Temporal
// is called.
func (p *outboxPoll) batch(ctx context.Context) (batchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, claimLease) // beyond it, others may have claimed the same
	defer cancel()
	owner := uuid.NewString()
	events, err := p.Outbox.ClaimEvents(ctx, owner, p.BatchSize, claimLease)
	if err != nil || len(events) == 0 {
		return batchResult{}, err
	}
	activity.GetMetricsHandler(ctx).Counter(OutboxClaimsMetric).Inc(int64(len(events)))
	batch := batchResult{claimed: len(events), ended: map[notification.ClaimOutcome]int{}}
	results := p.endsOf(ctx, events)
	for _, result := range results {
		batch.ended[result.Outcome]++
		switch result.Outcome {
		case notification.ClaimFailed:
			activity.GetLogger(ctx).Error("event cannot be started", "event_id", result.EventID, "error", result.Error)
		case notification.ClaimReleased:
			batch.cause = cmp.Or(batch.cause, result.Error)
		}
	}
	if err := p.Outbox.EndClaim(ctx, owner, results); err != nil {
		return batch, err // the leases run out; starting again is harmless
	}
	countBatch(ctx, batch)
	return batch, nil
}

// endsOf starts the events that are due, and says how the claim of each one ends.
func (p *outboxPoll) endsOf(ctx context.Context, events []notification.PendingEvent) []notification.ClaimResult {
	var settled []notification.ClaimResult
	var due []notification.PendingEvent
	for _, event := range events {
		event.Source = p.name
		switch {
		case event.Processed:
			settled = append(settled, notification.ClaimResult{EventID: event.ID, Outcome: notification.ClaimStarted})
		case event.Claims > maxClaims:
			problem := fmt.Sprintf("claimed %d times without an end", maxClaims)
			settled = append(settled, notification.ClaimResult{EventID: event.ID, Outcome: notification.ClaimFailed, Error: problem})
		default:
			due = append(due, event)
		}
	}
	return append(settled, p.startAll(ctx, due)...)
}

// startAll starts events concurrently. Once Temporal proves out of reach, the rest
// of the batch is given back untried.
func (p *outboxPoll) startAll(ctx context.Context, events []notification.PendingEvent) []notification.ClaimResult {
	starts := make([]start, len(events))
	var unreachable atomic.Bool
	var group errgroup.Group
	group.SetLimit(startsAtOnce)
	for i, event := range events {
		group.Go(func() error {
			starts[i] = start{eventID: event.ID, outcome: notification.ClaimReleased}
			if unreachable.Load() {
				return nil
			}
			ctx, cancel := context.WithTimeout(ctx, startTimeout)
			defer cancel()
			err := p.launcher.StartEvent(ctx, event)
			starts[i] = start{eventID: event.ID, outcome: startOutcome(err), err: err}
			if starts[i].outcome == notification.ClaimReleased {
				unreachable.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return blame(starts)
}

// start is the result of starting one event.
type start struct {
	eventID string
	outcome notification.ClaimOutcome // by its error alone
	err     error                     // nil: it was started, or not tried
}

// refused reports whether Temporal answered and refused the start for a reason that
// may be the event's or Temporal's own. An id that another workflow has is always
// the event's.
func (s start) refused() bool {
	var taken *notification.IDTakenError
	return (s.outcome == notification.ClaimFailed || s.outcome == notification.ClaimKept) && !errors.As(s.err, &taken)
}

// blame decides which events a refusal counts against. Where another event of the
// batch was started, Temporal works, and a refusal is its event's own. Where none
// several events was, Temporal is at fault, or the request: all are given back,
// and nothing is counted. One event alone tells nothing: it is kept and counted,
// so that it ends as FAILED once it was claimed maxClaims times.
func blame(starts []start) []notification.ClaimResult {
	started, refused := 0, 0
	for _, s := range starts {
		switch {
		case s.outcome == notification.ClaimStarted:
			started++
		case s.refused():
			refused++
		}
	}
	results := make([]notification.ClaimResult, 0, len(starts))
	for _, s := range starts {
		result := notification.ClaimResult{EventID: s.eventID, Outcome: s.outcome}
		if s.err != nil {
			result.Error = storable(s.err)
		}
		switch {
		case !s.refused() || started > 0:
		case refused > 1:
			result.Outcome = notification.ClaimReleased
		default:
			result.Outcome = notification.ClaimKept
		}
		results = append(results, result)
	}
	return results
}

// storable is an error's text as Postgres takes it: a text that Postgres refuses
// would hold up the whole batch.
func storable(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", "?")
	return cmp.Or(text, "an error without a text")
}
