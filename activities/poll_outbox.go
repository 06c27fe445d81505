package activities

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
)

// Outbox is what polling needs of the database.
type Outbox interface {
	ClaimEvents(ctx context.Context, owner string, limit int, lease time.Duration) ([]notification.PendingEvent, error)
	EndClaim(ctx context.Context, owner string, results []notification.ClaimResult) (int, error)
	// ListenEvents calls wake at each hint that there are new events, until ctx ends.
	ListenEvents(ctx context.Context, wake func())
}

// EventLauncher starts the workflow of an event. Starting one that was started
// before, running or closed, is no error; where another workflow has its id, the
// error is a [notification.IDTakenError].
type EventLauncher interface {
	StartEvent(ctx context.Context, event notification.PendingEvent) error
}

// PollSettings come from the worker's settings.
type PollSettings struct {
	Interval  time.Duration // between two looks at an outbox that sends no hints
	BatchSize int           // events claimed at once
}

const (
	// pollTime is how long one activity polls before it hands over to the
	// next, so that a new worker's settings and code take effect soon.
	pollTime = time.Minute
	// PollHeartbeat bounds how long a dead worker goes unnoticed.
	PollHeartbeat = 10 * time.Second
	// claimLease is how long the events of a dead poller wait for another. It
	// is far above what a batch takes.
	claimLease = 30 * time.Second
	// maxClaims is how often an event may be claimed without an end before it
	// is held to be the cause.
	maxClaims = 10
	// startsAtOnce bounds the concurrent starts of one batch.
	startsAtOnce = 16
	startTimeout = 5 * time.Second
	// alertInterval is that between two looks while the outbox is busy: what is
	// committed beside a transaction that sends a hint sends none of its own.
	// alertTime is how long that goes on after the last event.
	alertInterval, alertTime = 25 * time.Millisecond, time.Second
	// Back-off while Temporal or the database is out of reach.
	firstBackoff, maxBackoff = 200 * time.Millisecond, 15 * time.Second
)

// PollOutboxResult is the result of [Activities.PollOutbox].
type PollOutboxResult struct {
	Started  int // workflows started, or found started
	Failed   int // events marked FAILED
	Released int // events given back: Temporal is out of reach, or starts nothing
}

// PollOutbox starts the workflows of pending events for about a minute. What is
// claimed when it is told to stop is still brought to its end; when its process
// dies, the leases run out and another poller takes over.
func (a *Activities) PollOutbox(ctx context.Context) (PollOutboxResult, error) {
	working, ended := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	var background sync.WaitGroup
	defer background.Wait()
	defer ended()
	defer cancel()
	background.Go(func() { heartbeat(working) })

	wake := make(chan struct{}, 1)
	background.Go(func() {
		a.Outbox.ListenEvents(ctx, func() {
			select {
			case wake <- struct{}{}:
			default: // a wake-up is pending already
			}
		})
	})

	var total PollOutboxResult
	backoff, alertUntil := firstBackoff, time.Time{}
	for ctx.Err() == nil && !stopping(ctx) {
		batch, err := a.pollBatch(context.WithoutCancel(ctx))
		total.Started, total.Failed, total.Released = total.Started+batch.Started, total.Failed+batch.Failed, total.Released+batch.Released
		if err != nil || batch.Released > 0 {
			activity.GetLogger(ctx).Warn("outbox: backing off", "released", batch.Released, "because", batch.Cause, "backoff", backoff, "error", unquoted(err))
			pause(ctx, jitter(backoff), nil)
			backoff = min(2*backoff, maxBackoff)
			continue
		}
		backoff = firstBackoff
		if batch.Claimed > 0 {
			alertUntil = time.Now().Add(alertTime)
		}
		if batch.Claimed < a.Poll.BatchSize && pause(ctx, a.lookInterval(alertUntil), wake) {
			alertUntil = time.Now().Add(alertTime)
		}
	}
	return total, nil
}

// lookInterval is how long to wait for the next look, unless a hint comes.
func (a *Activities) lookInterval(alertUntil time.Time) time.Duration {
	if time.Now().Before(alertUntil) {
		return min(alertInterval, a.Poll.Interval)
	}
	return jitter(a.Poll.Interval)
}

type batchResult struct {
	PollOutboxResult
	Claimed int
	Cause   string // why events were given back
}

// pollBatch claims, starts and marks one batch. No transaction is open while
// Temporal is called.
func (a *Activities) pollBatch(ctx context.Context) (batchResult, error) {
	ctx, cancel := context.WithTimeout(ctx, claimLease) // beyond it, others may have claimed the same
	defer cancel()
	owner := uuid.NewString()
	events, err := a.Outbox.ClaimEvents(ctx, owner, a.Poll.BatchSize, claimLease)
	if err != nil || len(events) == 0 {
		return batchResult{}, err
	}
	activity.GetMetricsHandler(ctx).Counter(OutboxClaimsMetric).Inc(int64(len(events)))
	batch := batchResult{Claimed: len(events)}
	results := a.endsOf(ctx, events)
	for _, result := range results {
		switch result.Outcome {
		case notification.ClaimStarted:
			batch.Started++
		case notification.ClaimFailed:
			batch.Failed++
			activity.GetLogger(ctx).Error("event cannot be started", "event_id", result.EventID, "error", result.Error)
		case notification.ClaimReleased:
			batch.Released++
			batch.Cause = cmp.Or(batch.Cause, result.Error)
		}
	}
	if _, err := a.Outbox.EndClaim(ctx, owner, results); err != nil {
		return batch, err // the leases run out; starting again is harmless
	}
	countBatch(ctx, batch)
	return batch, nil
}

// endsOf starts the events that are due, and says how the claim of each one ends.
func (a *Activities) endsOf(ctx context.Context, events []notification.PendingEvent) []notification.ClaimResult {
	var settled []notification.ClaimResult
	var due []notification.PendingEvent
	for _, event := range events {
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
	return append(settled, a.startAll(ctx, due)...)
}

// startAll starts events concurrently. Once Temporal proves out of reach the
// rest of the batch is given back untried.
func (a *Activities) startAll(ctx context.Context, events []notification.PendingEvent) []notification.ClaimResult {
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
			starts[i] = startOf(event.ID, a.Launcher.StartEvent(ctx, event))
			if starts[i].outcome == notification.ClaimReleased {
				unreachable.Store(true)
			}
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	return blame(starts)
}

// heartbeat tells Temporal that the poller lives, until ctx ends: also while it
// brings its last batch to an end, after it was cancelled or its time was over.
// Temporal would otherwise hold it to be dead, and its workflow would say that it
// is paused while events are still started.
func heartbeat(ctx context.Context) {
	tick := time.NewTicker(PollHeartbeat / 5)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			activity.RecordHeartbeat(ctx)
		}
	}
}

// pause waits for d, for a wake-up, or for ctx, and says whether it was woken.
func pause(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
		return true
	case <-ctx.Done():
	case <-activity.GetWorkerStopChannel(ctx):
	}
	return false
}

// stopping says that the worker is shutting down.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

// jitter spreads d over ±20 %, so that what waits for it does not do so in step.
func jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.8 + 0.4*rand.Float64()))
}
