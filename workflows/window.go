package workflows

import "go.temporal.io/sdk/workflow"

// window runs functions concurrently, at most size at a time.
type window struct {
	slots   workflow.Semaphore
	running workflow.WaitGroup
}

func newWindow(ctx workflow.Context, size int64) *window {
	return &window{slots: workflow.NewSemaphore(ctx, size), running: workflow.NewWaitGroup(ctx)}
}

// run waits for a free place and starts f in it. Its only error is that ctx was
// cancelled; f was not started then.
func (w *window) run(ctx workflow.Context, f func(ctx workflow.Context)) error {
	if err := w.slots.Acquire(ctx, 1); err != nil {
		return err
	}
	w.running.Add(1)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer w.running.Done()
		defer w.slots.Release(1)
		f(ctx)
	})
	return nil
}

// wait waits until everything that runs has ended, cancelled or not. Its only
// error is that ctx was cancelled.
func (w *window) wait(ctx workflow.Context) error {
	w.running.Wait(ctx)
	return ctx.Err()
}
