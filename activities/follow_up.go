package activities

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
)

// FollowUpStore holds what is still to be done about deliveries whose status a receipt, an
// acknowledgement or a reader has changed.
type FollowUpStore interface {
	// FollowUps reads what is to be done, the oldest first, up to limit of each kind.
	FollowUps(ctx context.Context, limit int) ([]notification.FollowUp, error)
	// EndFollowUps forgets what is done.
	EndFollowUps(ctx context.Context, ids []int64) error
	// ListenFollowUps calls wake whenever something is to be done, until ctx ends.
	ListenFollowUps(ctx context.Context, wake func())
	// DeadLetterOf is false where the delivery is not FAILED any more, or is gone.
	DeadLetterOf(ctx context.Context, deliveryID string) (notification.DeadLetter, bool, error)
}

// EscalationWorkflows are the workflows that wait next to deliveries.
type EscalationWorkflows interface {
	// SettleEscalation has the escalation of a delivery look at it. Where none waits, that is no
	// error.
	SettleEscalation(ctx context.Context, deliveryID string) error
}

const (
	// followUpBatch is the number of each kind that is done before it is recorded.
	followUpBatch = 100
	// followUpsAtOnce bounds the concurrent messages and signals of one batch.
	followUpsAtOnce = 16
	// followUpTimeout bounds one of them.
	followUpTimeout = 10 * time.Second
	// followUpInterval is the time between two looks while nobody is woken.
	followUpInterval = 5 * time.Second
)

// FollowUpResult is the result of [Activities.FollowUp].
type FollowUpResult struct {
	Done   int // dead letters that the queue has, and workflows that were told
	Failed int // attempts: what fails is tried again
}

// FollowUp does, for about a minute, what follows receipts, acknowledgements and readers: it
// publishes dead letters, and has the workflows that wait next to deliveries look at them.
// It forgets each only once it is done: a crash between the two repeats it, and a second dead
// letter has the same message id.
func (a *Activities) FollowUp(ctx context.Context) (FollowUpResult, error) {
	working, ended := context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	var background sync.WaitGroup
	defer background.Wait()
	defer ended()
	defer cancel()
	background.Go(func() { heartbeat(working) })

	wake := make(chan struct{}, 1)
	background.Go(func() { a.FollowUps.ListenFollowUps(ctx, waker(wake)) })
	f := &followUpLoop{Activities: a, wake: wake, backoff: firstBackoff}
	for ctx.Err() == nil && !stopping(ctx) {
		f.step(ctx)
	}
	return f.total, nil
}

// followUpLoop is the state of one [Activities.FollowUp].
type followUpLoop struct {
	*Activities
	wake    <-chan struct{}
	backoff time.Duration // after the next failure
	total   FollowUpResult
}

// step does one batch, then waits for as long as its outcome asks for.
func (f *followUpLoop) step(ctx context.Context) {
	batch, err := f.batch(context.WithoutCancel(ctx))
	f.total.Done += batch.Done
	f.total.Failed += batch.Failed
	switch {
	case err != nil:
		activity.GetLogger(ctx).Warn("what follows receipts is delayed", "failed", batch.Failed, "backoff", f.backoff, "error", Unquoted(err))
		sleep(ctx, firstBackoff, nil)
		sleep(ctx, jitter(f.backoff), f.wake) // what fails does not hold up what comes
		f.backoff = min(2*f.backoff, maxBackoff)
	case batch.Done == 0:
		sleep(ctx, jitter(followUpInterval), f.wake)
		f.backoff = firstBackoff
	}
}

// batch does a batch and forgets what of it is done. The error is one that holds up
// the rest.
func (f *followUpLoop) batch(ctx context.Context) (FollowUpResult, error) {
	rows, err := f.FollowUps.FollowUps(ctx, followUpBatch)
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
		return result, endErr // what is done is done again
	}
	return result, err
}

// followUp does one thing.
func (f *followUpLoop) followUp(ctx context.Context, row notification.FollowUp) error {
	ctx, cancel := context.WithTimeout(ctx, followUpTimeout)
	defer cancel()
	if row.Kind == notification.FollowUpDeadLetter {
		return f.tellOfFailure(ctx, row.DeliveryID)
	}
	return f.Escalations.SettleEscalation(ctx, row.DeliveryID)
}

// tellOfFailure publishes the dead letter of a delivery that a receipt has made FAILED. One
// that an operator retries meanwhile ends anew.
func (f *followUpLoop) tellOfFailure(ctx context.Context, deliveryID string) error {
	letter, failed, err := f.FollowUps.DeadLetterOf(ctx, deliveryID)
	if err != nil || !failed {
		return err
	}
	if err := f.DeadLetters.PublishDeadLetter(ctx, letter); err != nil {
		return err
	}
	countDeadLetter(ctx, letter.Channel)
	return nil
}
