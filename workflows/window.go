package workflows

import "go.temporal.io/sdk/workflow"

// window runs functions concurrently: those that take a place at most size at a
// time, and others beside them.
type window struct {
	places  workflow.Semaphore
	running workflow.WaitGroup
	open    int
}

func newWindow(ctx workflow.Context, size int64) *window {
	return &window{places: workflow.NewSemaphore(ctx, size), running: workflow.NewWaitGroup(ctx)}
}

// run waits for a free place and starts f in it. Its only error is that ctx was
// cancelled; f was not started then.
func (w *window) run(ctx workflow.Context, f func(ctx workflow.Context)) error {
	if err := w.places.Acquire(ctx, 1); err != nil {
		return err
	}
	w.start(ctx, func(ctx workflow.Context) {
		defer w.places.Release(1)
		f(ctx)
	})
	return nil
}

// start starts f without a place.
func (w *window) start(ctx workflow.Context, f func(ctx workflow.Context)) {
	w.open++
	w.running.Add(1)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer w.running.Done()
		f(ctx)
		w.open--
	})
}

// wait waits until everything that runs has ended, cancelled or not. Its only
// error is that ctx was cancelled.
func (w *window) wait(ctx workflow.Context) error {
	w.running.Wait(ctx)
	return ctx.Err()
}
