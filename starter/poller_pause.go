package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"herald/internal/advice"
	"herald/internal/config"
	"herald/internal/console"
	"herald/workflows"
)

func (a *app) pausePollersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Have all pollers start nothing more, and wait until they have paused",
		Long: `Have all pollers start nothing more, and wait until they have paused: what they had
claimed is brought to its end. Events wait in the outbox; deliveries that were begun
go on. A pause outlasts workers and their restarts. It ends by ` + "`starter poller resume`.",
		Example: "  starter poller pause",
		Args:    cobra.NoArgs,
		RunE:    a.pollers(stopTimeout, a.pausePollers),
	}
}

func (a *app) resumePollersCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "resume",
		Short:   "Let paused pollers go on, and wait until they do",
		Example: "  starter poller resume",
		Args:    cobra.NoArgs,
		RunE:    a.pollers(stopTimeout, a.resumePollers),
	}
}

// pollerOrder is what all pollers that run are told.
type pollerOrder struct {
	signal string
	status string // that they have when it is carried out
	done   string // in a word
}

func (a *app) pausePollers(ctx context.Context, temporal client.Client, cfg config.Starter) error {
	return a.order(ctx, temporal, cfg, pollerOrder{workflows.PausePoller, pausedStatus, "paused"})
}

func (a *app) resumePollers(ctx context.Context, temporal client.Client, cfg config.Starter) error {
	return a.order(ctx, temporal, cfg, pollerOrder{workflows.ResumePoller, runningStatus, "resumed"})
}

// commander is Temporal's client, as much of it as ordering pollers takes.
type commander interface {
	describer
	SignalWorkflow(ctx context.Context, workflowID, runID, signalName string, arg any) error
}

// order tells all pollers, also those that seem to be as they should: an earlier
// order may still wait for a worker.
func (a *app) order(ctx context.Context, temporal commander, cfg config.Starter, order pollerOrder) error {
	state, err := readPollers(ctx, temporal, cfg.TaskQueuePrefix, 0)
	if err != nil {
		return err
	}
	if len(state.Pollers) == 0 {
		return advice.With(errors.New("no poller runs"), "`starter poller start` starts them; `starter poller status` shows how they ended")
	}
	ids := state.ids()
	if err := a.recordPollers(ctx, ids); err != nil {
		return err
	}
	for _, id := range ids {
		if err := temporal.SignalWorkflow(ctx, id, "", order.signal, time.Now().UTC()); err != nil {
			return fmt.Errorf("signal %s: %w", id, err)
		}
	}
	if state.Workers == 0 {
		return advice.With(fmt.Errorf("no worker polls the task queue %s; the order is kept until one does", state.TaskQueue),
			"start a worker, which carries it out; see `starter poller status`")
	}
	goal := pollerGoal{
		reached: func(p pollerState) bool { return p.Status == order.status },
		missed:  "not " + order.done + " yet",
		next:    "see `starter poller status` and the worker's log; the order stands",
	}
	if err := waitForPollers(ctx, temporal, ids, goal); err != nil {
		return err
	}
	return a.Print(map[string][]string{order.done: ids}, func(w io.Writer) {
		for _, id := range ids {
			console.Row(w, order.done, id)
		}
	})
}
