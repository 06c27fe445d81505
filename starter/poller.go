package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"herald/internal/config"
	"herald/internal/console"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	// maxPollers is what OUTBOX_POLLERS can be at most: beyond it none is looked for.
	maxPollers = 16
	// stopTimeout is far above what bringing a claimed batch to its end takes.
	stopTimeout = time.Minute
)

func (a *app) pollerCommand() *cobra.Command {
	start := &cobra.Command{
		Use:     "start",
		Short:   "Start OUTBOX_POLLERS pollers, unless they run already",
		Long:    "Start OUTBOX_POLLERS pollers, unless they run already. Those that are paused stay so.",
		Example: "  starter poller start",
		Args:    cobra.NoArgs,
		RunE:    a.pollers(commandTimeout, a.startPollers),
	}
	stop := &cobra.Command{
		Use:     "stop",
		Short:   "Stop all pollers, and wait until they have ended",
		Long:    "Stop all pollers, and wait until they have ended. Events stay in the outbox until the next start.",
		Example: "  starter poller stop",
		Args:    cobra.NoArgs,
		RunE:    a.pollers(stopTimeout, a.stopPollers),
	}
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show the pollers, and whether a worker serves them",
		Example: "  starter poller status -o json",
		Args:    cobra.NoArgs,
		RunE:    a.pollers(commandTimeout, a.showPollers),
	}
	return group("poller", "Start, stop, pause and watch the outbox pollers",
		start, stop, a.pausePollersCommand(), a.resumePollersCommand(), status)
}

func (a *app) pollers(limit time.Duration, f func(context.Context, client.Client, config.Starter) error) func(*cobra.Command, []string) error {
	return a.within(limit, func(ctx context.Context, _ []string) error {
		cfg, err := a.settings()
		if err != nil {
			return err
		}
		temporal, err := a.temporal(ctx)
		if err != nil {
			return err
		}
		defer temporal.Close()
		return f(ctx, temporal, cfg)
	})
}

// recordPollers writes down what the pollers are about to be told.
func (a *app) recordPollers(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	return a.record(ctx, db, "", ids...)
}

func (a *app) startPollers(ctx context.Context, temporal client.Client, cfg config.Starter) error {
	starter := launch.Launcher{Client: temporal, Prefix: cfg.TaskQueuePrefix}
	var ids []string
	for n := 1; n <= cfg.OutboxPollers; n++ {
		ids = append(ids, workflows.PollerID(cfg.TaskQueuePrefix, notification.HeraldSource, n))
	}
	if err := a.recordPollers(ctx, ids); err != nil {
		return err
	}
	for n := 1; n <= cfg.OutboxPollers; n++ {
		if err := starter.StartPoller(ctx, notification.HeraldSource, n); err != nil {
			return err
		}
	}
	return a.showPollers(ctx, temporal, cfg)
}

func (a *app) showPollers(ctx context.Context, temporal client.Client, cfg config.Starter) error {
	state, err := readPollers(ctx, temporal, cfg.TaskQueuePrefix, cfg.OutboxPollers)
	if err != nil {
		return err
	}
	a.warnOfWorkers(state)
	a.warnOfPollers(state)
	return a.Print(state, func(w io.Writer) { printPollers(w, state) })
}

func (a *app) warnOfWorkers(state pollersState) {
	if state.Workers == 0 {
		a.Note("warning: no worker polls the task queue %s, so nothing happens; start a worker", state.TaskQueue)
	}
}

// warnOfPollers says what to do about pollers that start nothing.
func (a *app) warnOfPollers(state pollersState) {
	switch {
	case !slices.ContainsFunc(state.Pollers, pollerState.running):
		a.Note("warning: no outbox poller is running, so nothing is started; run `starter poller start`")
	case slices.ContainsFunc(state.Pollers, func(p pollerState) bool { return p.Status == pausingStatus }):
		a.Note("warning: a poller is about to pause: it starts the events that it has claimed, and no others")
	case slices.ContainsFunc(state.Pollers, func(p pollerState) bool { return p.Status == pausedStatus }):
		a.Note("warning: a poller is paused, and events wait in the outbox; `starter poller resume` lets it go on")
	}
}

func printPollers(w io.Writer, state pollersState) {
	console.Row(w, "POLLER", "STATUS", "SINCE", "LAST HEARTBEAT", "ATTEMPT", "LAST FAILURE")
	for _, p := range state.Pollers {
		console.Row(w, p.ID, p.Status, console.Clock(p.Since), console.Clock(p.LastHeartbeat), p.Attempt, console.Dash(p.LastFailure))
	}
}

// stopPollers cancels what runs, and waits for it.
func (a *app) stopPollers(ctx context.Context, temporal client.Client, cfg config.Starter) error {
	state, err := readPollers(ctx, temporal, cfg.TaskQueuePrefix, 0)
	if err != nil {
		return err
	}
	stopped := state.ids()
	if err := a.recordPollers(ctx, stopped); err != nil {
		return err
	}
	for _, id := range stopped {
		if err := temporal.CancelWorkflow(ctx, id, ""); err != nil && !isNotFound(err) {
			return fmt.Errorf("cancel %s: %w", id, err)
		}
	}
	if len(stopped) > 0 {
		a.warnOfWorkers(state)
	}
	ended := pollerGoal{
		reached: func(p pollerState) bool { return !p.running() },
		missed:  "still running",
		next:    "start a worker, which lets them end, or terminate them in the Temporal Web UI",
	}
	if err := waitForPollers(ctx, temporal, stopped, ended); err != nil {
		return err
	}
	return a.Print(map[string][]string{"stopped": stopped}, func(w io.Writer) {
		for _, id := range stopped {
			console.Row(w, "stopped", id)
		}
		if len(stopped) == 0 {
			console.Row(w, "no poller was running")
		}
	})
}
