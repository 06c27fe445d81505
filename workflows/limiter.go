package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// waiting is the signal by which a child tells its parent that it only waits from now on: a delivery
// for its time, a page or batch for such deliveries. The argument is the child's workflow ID. The
// parent then gives the child's slot to the next child.
const waiting = "waiting"

// longWait is the time from which a wait gives its slot back. A shorter wait is cheaper than the signal.
const longWait = time.Minute

// limiter runs children concurrently. run waits for a slot, of which there are `size`; start needs
// no slot.
type limiter struct {
	slots   workflow.Semaphore
	running workflow.WaitGroup
	open    int             // children that have not ended yet
	holding map[string]bool // children that have a slot, by workflow ID
}

func newLimiter(ctx workflow.Context, size int64) *limiter {
	return &limiter{slots: workflow.NewSemaphore(ctx, size), running: workflow.NewWaitGroup(ctx), holding: map[string]bool{}}
}

// releaseWaiting takes back the slots of children that only wait.
func releaseWaiting(ctx workflow.Context, limiters ...*limiter) {
	signals := workflow.GetSignalChannel(ctx, waiting)
	workflow.Go(ctx, func(ctx workflow.Context) {
		for id := ""; signals.Receive(ctx, &id); {
			for _, l := range limiters {
				l.release(id)
			}
		}
	})
}

// run starts f, which runs the child with this workflow ID, as soon as a slot is free. The child holds
// the slot until f returns, or until the child only waits. The only error is that ctx was cancelled
// before.
func (l *limiter) run(ctx workflow.Context, id string, f func(ctx workflow.Context)) error {
	if err := l.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	l.holding[id] = true
	l.start(ctx, func(ctx workflow.Context) {
		defer l.release(id)
		f(ctx)
	})
	return nil
}

// release gives back the slot of a child.
func (l *limiter) release(id string) {
	if l.holding[id] {
		delete(l.holding, id)
		l.slots.Release(1)
	}
}

// deliver runs `one`, the function for one delivery. It needs a slot unless the delivery waits.
func (l *limiter) deliver(ctx workflow.Context, d notification.Delivery, one func(ctx workflow.Context)) error {
	if d.Waits() {
		l.start(ctx, one)
		return nil
	}
	return l.run(ctx, d.DeliveryID, one)
}

// isLong reports whether the wait until a time gives its slot back.
func isLong(ctx workflow.Context, until time.Time) bool {
	return until.Sub(workflow.Now(ctx)) >= longWait
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

// waitTelling is wait for a child of a lane. It tells the lane when all open children only wait.
func (l *limiter) waitTelling(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return len(l.holding) == 0 }); err == nil && l.open > 0 {
		tellParent(ctx)
	}
	return l.wait(ctx)
}

// tellParent tells the workflow that holds a slot for this one that it only waits from now on.
func tellParent(ctx workflow.Context) {
	info := workflow.GetInfo(ctx)
	if parent := info.ParentWorkflowExecution; parent != nil {
		// to its last run, because the parent may have been reset; without an answer, because a parent that has ended needs no slot
		workflow.SignalExternalWorkflow(ctx, parent.ID, "", waiting, info.WorkflowExecution.ID)
	}
}
