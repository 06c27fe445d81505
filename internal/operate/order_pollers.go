package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"herald/internal/advice"
	"herald/internal/event"
	"herald/internal/relay"
	"herald/workflows"
)

// StartPollers starts the configured pollers of the sources, unless they run. The table poller has them
// before Temporal does, so no crash leaves a poller that nothing restores.
func (o *Operator) StartPollers(ctx context.Context, sources []relay.Source) error {
	var ids []string
	for _, source := range sources {
		for n := 1; n <= source.Pollers; n++ {
			ids = append(ids, workflows.PollerID(o.Launcher.Prefix, source.Name, n))
		}
	}
	if err := o.Record(ctx, o.Order.Flags, ids...); err != nil {
		return err
	}
	for _, source := range sources {
		if err := event.On(o.DB).KeepPollers(ctx, source.Name, source.Pollers); err != nil {
			return err
		}
	}
	wanted, err := event.On(o.DB).Pollers(ctx)
	if err != nil {
		return err
	}
	for _, poller := range wanted {
		ofSource := func(source relay.Source) bool { return source.Name == poller.Source && poller.Number <= source.Pollers }
		if !slices.ContainsFunc(sources, ofSource) {
			continue
		}
		if err := o.startPoller(ctx, poller); err != nil {
			return err
		}
	}
	return nil
}

// startPoller starts a poller. It replaces a poller that was told to stop, which would end once a
// worker runs.
func (o *Operator) startPoller(ctx context.Context, wanted event.Poller) error {
	poller, err := readPoller(ctx, o.Launcher, workflows.PollerID(o.Launcher.Prefix, wanted.Source, wanted.Number))
	if err != nil {
		return err
	}
	in := workflows.PollInput{Source: wanted.Source, PausedSince: wanted.PausedSince}
	return o.Launcher.StartPoller(ctx, wanted.Number, in, poller.Status == PollerStopping)
}

// StopPollers cancels the pollers of the sources, and waits until they have ended. It forgets them
// first, so nothing restores them.
func (o *Operator) StopPollers(ctx context.Context, sources []relay.Source, ids []string) error {
	if err := o.Record(ctx, o.Order.Flags, ids...); err != nil {
		return err
	}
	for _, source := range sources {
		if err := event.On(o.DB).ForgetPollers(ctx, source.Name); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := o.Launcher.Cancel(ctx, id, o.Order.cause()); err != nil {
			return err
		}
	}
	const next = "start a worker, which lets them end, or terminate them in the Temporal Web UI"
	return o.awaitPollers(ctx, ids, Poller.hasEnded, "still running", next)
}

// PausePollers pauses all pollers of the sources, so that they start no more events, and waits
// until they have paused.
func (o *Operator) PausePollers(ctx context.Context, sources []relay.Source) (ids []string, err error) {
	return o.signalPollers(ctx, sources, workflows.PausePoller, PollerPaused, "not paused yet")
}

// ResumePollers resumes all paused pollers of the sources, and waits until they run.
func (o *Operator) ResumePollers(ctx context.Context, sources []relay.Source) (ids []string, err error) {
	return o.signalPollers(ctx, sources, workflows.ResumePoller, PollerRunning, "not resumed yet")
}

// signalPollers signals all pollers, even pollers that have the status already: the opposite signal
// may still wait for a worker.
func (o *Operator) signalPollers(
	ctx context.Context, sources []relay.Source, signal string, status PollerStatus, missed string,
) (ids []string, err error) {
	pollers, err := RunningPollers(ctx, o.Launcher, sources)
	if err != nil {
		return nil, err
	}
	if ids = pollers.IDs(); len(ids) == 0 {
		return nil, advice.With(errors.New("no poller runs"), "`starter poller start` starts them; `starter poller status` shows how they ended")
	}
	if err := o.Record(ctx, o.Order.Flags, ids...); err != nil {
		return nil, err
	}
	for _, source := range sources {
		if err := event.On(o.DB).PausePollers(ctx, source.Name, status == PollerPaused); err != nil {
			return nil, err
		}
	}
	for _, id := range ids {
		if err := o.temporal().SignalWorkflow(ctx, id, "", signal, time.Now().UTC()); err != nil {
			return nil, fmt.Errorf("signal %s: %w", id, err)
		}
	}
	if pollers.Workers == 0 {
		return nil, advice.With(fmt.Errorf("%s; the order is kept until one does", pollers.ServedBy.Absent(pollers.TaskQueue, time.Now())),
			"start a worker, which carries it out; see `starter poller status`")
	}
	reached := func(p Poller) bool { return p.Status == status }
	return ids, o.awaitPollers(ctx, ids, reached, missed, "see `starter poller status` and the worker's log; the order stays in effect")
}

// awaitPollers waits until `reached` holds for all pollers. If ctx ends first, the error describes
// the other pollers with the text missed, and advises the operator with the text next.
func (o *Operator) awaitPollers(ctx context.Context, ids []string, reached func(Poller) bool, missed, next string) error {
	for left := ids; ; {
		var missing []string
		for _, id := range left {
			poller, err := readPoller(ctx, o.Launcher, id)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err != nil || !reached(poller) {
				missing = append(missing, id)
			}
		}
		if left = missing; len(left) == 0 {
			return nil
		}
		if err := sleep(ctx); err != nil {
			return advice.With(fmt.Errorf("%s: %s: %w", missed, strings.Join(left, ", "), err), next)
		}
	}
}
