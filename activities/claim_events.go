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

// EventLauncher starts the workflow of an event. It returns no error if the workflow was
// started before, running or closed. If another workflow has its id, the error is a
// [notification.IDTakenError].
type EventLauncher interface {
	// With eager, a worker of this process gets the first task with Temporal's answer.
	StartEvent(ctx context.Context, event notification.PendingEvent, eager bool) error
	// StartsEagerly reports whether the workers of this process get the tasks of all new workflows.
	StartsEagerly(ctx context.Context) bool
}

const (
	// claimLease is the time that the events of a dead poller wait for another poller. Starting
	// them takes far less.
	claimLease = 30 * time.Second
	// maxClaims is the number of claims without an end after which Herald assumes that the event is
	// the cause, and fails it.
	maxClaims = 10
	// startsAtOnce bounds the concurrent starts of claimed events.
	startsAtOnce = 16
	startTimeout = 5 * time.Second
)

// claimCounts counts the claims of one batch by their end.
type claimCounts struct {
	claimed int
	ended   map[notification.ClaimOutcome]int
	cause   string // why events were given back
}

// claim claims, starts and marks the next events. No transaction is open while Temporal
// is called.
func (p *outboxPoll) claim(ctx context.Context) (claimCounts, error) {
	ctx, cancel := context.WithTimeout(ctx, claimLease) // after the lease, another poller may claim the same events
	defer cancel()
	owner := uuid.NewString()
	events, err := p.Outbox.ClaimEvents(ctx, owner, p.BatchSize, claimLease)
	if err != nil || len(events) == 0 {
		return claimCounts{}, err
	}
	activity.GetMetricsHandler(ctx).Counter(OutboxClaimsMetric).Inc(int64(len(events)))
	counts := claimCounts{claimed: len(events), ended: map[notification.ClaimOutcome]int{}}
	results := p.endsOf(ctx, events)
	for _, result := range results {
		counts.ended[result.Outcome]++
		switch result.Outcome {
		case notification.ClaimFailed:
			activity.GetLogger(ctx).Error("event cannot be started", "event_id", result.EventID, "error", result.Error)
		case notification.ClaimReleased:
			counts.cause = cmp.Or(counts.cause, result.Error)
		}
	}
	if err := p.Outbox.EndClaim(ctx, owner, results); err != nil {
		return counts, err // the leases expire; a second start is harmless
	}
	countOutcomes(activity.GetMetricsHandler(ctx), OutboxResultsMetric, counts.ended)
	return counts, nil
}

// endsOf starts the events that are due, and returns the end of each event's claim.
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

// startAll starts events concurrently. Once Temporal is out of reach, it gives back the other
// events of the batch without a try.
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
			err := p.launcher.StartEvent(ctx, event, p.eager)
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
	outcome notification.ClaimOutcome // from its error, without the other starts
	err     error                     // nil: it was started, or not tried
}

// refused reports whether Temporal refused the start for an unclear reason: the event or Temporal
// may be at fault. If another workflow has the id, the event is at fault.
func (s start) refused() bool {
	var taken *notification.IDTakenError
	return (s.outcome == notification.ClaimFailed || s.outcome == notification.ClaimKept) && !errors.As(s.err, &taken)
}

// blame decides which events a refusal counts against. If Temporal started another event of the
// batch, Temporal works, and the refused event is at fault. If Temporal refused several events and
// started none, Temporal or the request is at fault: all events are given back, and no claim
// counts. The same holds for one event, if Temporal's answer says nothing about it. If Temporal finds one
// event invalid, the claim counts, so the event ends as FAILED after maxClaims claims.
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
		case refused > 1 || s.outcome == notification.ClaimKept:
			result.Outcome = notification.ClaimReleased
		default:
			result.Outcome = notification.ClaimKept
		}
		results = append(results, result)
	}
	return results
}

// storable makes an error's text valid for Postgres: a refused text would stop the whole batch.
func storable(err error) string {
	text := strings.ReplaceAll(strings.ToValidUTF8(err.Error(), "?"), "\x00", "?")
	return cmp.Or(text, "an error without a text")
}
