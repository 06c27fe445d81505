package workflows

import (
	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// limiter runs functions concurrently. run waits for a slot, of which there are `size`; start needs
// no slot.
type limiter struct {
	slots   workflow.Semaphore
	running workflow.WaitGroup
	open    int // functions that have not returned yet
}

func newLimiter(ctx workflow.Context, size int64) *limiter {
	return &limiter{slots: workflow.NewSemaphore(ctx, size), running: workflow.NewWaitGroup(ctx)}
}

// run starts f as soon as a slot is free. f holds the slot until it returns. The only error is that
// ctx was cancelled before.
func (l *limiter) run(ctx workflow.Context, f func(ctx workflow.Context)) error {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	l.start(ctx, func(ctx workflow.Context) {
		defer l.slots.Release(1)
		f(ctx)
	})
	return nil
}

// deliver runs `one`, the function for one delivery. It needs a slot unless the delivery waits.
func (l *limiter) deliver(ctx workflow.Context, d notification.Delivery, one func(ctx workflow.Context)) error {
	if d.Waits() {
		l.start(ctx, one)
		return nil
	}
	return l.run(ctx, one)
}

// start starts f at once, without a slot.
func (l *limiter) start(ctx workflow.Context, f func(ctx workflow.Context)) {
	l.open++
	l.running.Add(1)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer l.running.Done()
		f(ctx)
		l.open--
	})
}

// wait waits until every function has returned, even if ctx was cancelled. Its only error is that
// ctx was cancelled.
func (l *limiter) wait(ctx workflow.Context) error {
	l.running.Wait(ctx)
	return ctx.Err()
}
