package activities

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"herald/internal/limit"
	"herald/internal/notification"
)

// FollowUpStore stores the follow-ups of deliveries. A delivery gets one when it fails, or when a
// receipt, an acknowledgement, a reader or a newer event changes it.
type FollowUpStore interface {
	// FollowUps reads the open follow-ups, the oldest first, up to limit of each kind.
	FollowUps(ctx context.Context, kinds []notification.FollowUpKind, limit int) ([]notification.FollowUp, error)
	// EndFollowUps deletes follow-ups that are done.
	EndFollowUps(ctx context.Context, ids []int64) error
	// ListenFollowUps calls wake when there are new follow-ups, until ctx ends.
	ListenFollowUps(ctx context.Context, wake func())
	deadLetterStore
}

// followUpKinds holds the handler of each kind of follow-up. A handler may run twice.
var followUpKinds = map[notification.FollowUpKind]func(f *followUpLoop, ctx context.Context, deliveryID string) error{
	notification.FollowUpDeadLetter: (*followUpLoop).publishDeadLetter,
	notification.FollowUpEscalation: (*followUpLoop).wakeEscalation,
	notification.FollowUpReplaced:   (*followUpLoop).cancelReplaced,
}

const (
	// followUpBatch limits the follow-ups of each kind in one batch.
	followUpBatch = 100
	// followUpsAtOnce bounds the concurrent messages and signals of one batch.
	followUpsAtOnce = 16
	// followUpTimeout bounds one message or signal.
	followUpTimeout = 10 * time.Second
	// followUpInterval is the time between two reads without a wake-up.
	followUpInterval = 5 * time.Second
	// leastFollowUpWait is the time after a failure in which no wake-up counts.
	leastFollowUpWait = 200 * time.Millisecond
)

// FollowUpResult is the result of [Activities.FollowUp].
type FollowUpResult struct {
	Done   int // dead letters that were published, and workflows that were signalled or cancelled
	Failed int // failed attempts; each is repeated
}

// FollowUp handles follow-ups for about a minute. It deletes a follow-up only after it is done. A
// crash before the deletion repeats the follow-up, and the second dead letter has the same message
// id.
func (a *Activities) FollowUp(ctx context.Context) (FollowUpResult, error) {
	defer heartbeats(ctx, PollHeartbeat/5, nil)()
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	wake := make(chan struct{}, 1)
	background.Go(func() { a.FollowUps.ListenFollowUps(ctx, waker(wake)) })
	f := &followUpLoop{Activities: a, wake: wake}
	for ctx.Err() == nil && !stopping(ctx) {
		f.step(ctx)
	}
	return f.total, nil
}

// followUpLoop is the state of one [Activities.FollowUp].
type followUpLoop struct {
	*Activities
	wake    <-chan struct{}
	backOff limit.BackOff
	total   FollowUpResult
}

// step handles one page. Then it waits if the page failed or was empty.
func (f *followUpLoop) step(ctx context.Context) {
	page, err := f.page(context.WithoutCancel(ctx))
	f.total.Done += page.Done
	f.total.Failed += page.Failed
	switch {
	case err != nil:
		wait := f.backOff.Failed()
		activity.GetLogger(ctx).Warn("the follow-ups of deliveries are delayed",
			"failed", page.Failed, "backoff", wait, "error", Unquoted(err))
		sleep(ctx, leastFollowUpWait, nil)
		sleep(ctx, wait, f.wake) // a new follow-up ends the wait
	case page.Done == 0:
		sleep(ctx, limit.Jitter(followUpInterval), f.wake)
		f.backOff.Worked()
	}
}

// page handles the oldest follow-ups, and deletes the finished follow-ups. The error is the last
// failure.
func (f *followUpLoop) page(ctx context.Context) (FollowUpResult, error) {
	rows, err := f.FollowUps.FollowUps(ctx, slices.Collect(maps.Keys(followUpKinds)), followUpBatch)
	if err != nil || len(rows) == 0 {
		return FollowUpResult{}, err
	}
	failures := make([]error, len(rows))
	var group errgroup.Group
	group.SetLimit(followUpsAtOnce)
	for i, row := range rows {
		group.Go(func() error {
			failures[i] = f.followUp(ctx, row)
			return nil
		})
	}
	_ = group.Wait() // the functions return no error
	var done []int64
	for i, row := range rows {
		if failures[i] == nil {
			done = append(done, row.ID)
		} else {
			err = failures[i]
		}
	}
	result := FollowUpResult{Done: len(done), Failed: len(rows) - len(done)}
	if endErr := f.FollowUps.EndFollowUps(ctx, done); endErr != nil {
		return result, endErr // the whole page is repeated
	}
	return result, err
}

func (f *followUpLoop) followUp(ctx context.Context, row notification.FollowUp) error {
	ctx, cancel := context.WithTimeout(ctx, followUpTimeout)
	defer cancel()
	handle, known := followUpKinds[row.Kind]
	if !known {
		return fmt.Errorf("this release does not know the follow-up kind %q", row.Kind)
	}
	return handle(f, ctx, row.DeliveryID)
}
