package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/launch"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/terminal"
)

// pollerTimeout is much longer than a poller needs to start the events it has claimed.
const pollerTimeout = time.Minute

func pollerCommand(a *app) *cobra.Command {
	var source string
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show the pollers, and whether a worker serves them",
		Example: "  starter poller status -o json",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			sources, err := sourcesNamed(a, source)
			if err != nil {
				return err
			}
			launcher, err := a.launcher(ctx)
			if err != nil {
				return err
			}
			warnOfLoss(ctx, a, launcher)
			return showPollers(ctx, a, launcher, sources)
		}),
	}
	pollers := group("poller", "Start, stop, pause and watch the outbox pollers",
		orderCommand(a, "start", "Start the pollers of each source, unless they run already", `OUTBOX_POLLERS sets their number for
Herald's own outbox. For other outboxes, pollers: in the file of OUTBOX_SOURCES sets it, else 1.
Paused pollers stay paused.`, &source, a.startPollers),
		orderCommand(a, "stop", "Stop all pollers, and wait until they have ended", "Events stay in the outbox until the next start.", &source,
			a.stopPollers),
		orderCommand(a, "pause", "Pause all pollers, and wait until they have paused", `They start only the events that they have
claimed. Other events wait in the outbox. Started events continue. Restarts of
workers do not end a pause; `+"`starter poller resume`"+` ends it.`, &source, carriedOut(a, "paused", (*operate.Operator).PausePollers)),
		orderCommand(a, "resume", "Resume paused pollers, and wait until they run", "", &source,
			carriedOut(a, "resumed", (*operate.Operator).ResumePollers)),
		status)
	for _, cmd := range pollers.Commands() {
		sourceFlag(a, cmd, &source, "only pollers of this source")
	}
	return pollers
}

// order gives an order to the pollers of some sources.
type order func(ctx context.Context, o *operate.Operator, sources []relay.Source) error

// orderCommand returns a command that gives an order to the pollers. Its help is short, followed
// by more.
func orderCommand(a *app, name, short, more string, source *string, give order) *cobra.Command {
	return &cobra.Command{
		Use: name, Short: short, Long: strings.TrimSpace(short + ". " + more),
		Example: "  starter poller " + name + "\n  starter poller " + name + " --source herald",
		RunE: a.within(pollerTimeout, func(ctx context.Context, _ []string) error {
			sources, err := sourcesNamed(a, *source)
			if err != nil {
				return err
			}
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error { return give(ctx, o, sources) })
		}),
	}
}

// carriedOut returns an order that prints which pollers have carried it out.
func carriedOut(a *app, done string, give func(*operate.Operator, context.Context, []relay.Source) ([]string, error)) order {
	return func(ctx context.Context, o *operate.Operator, sources []relay.Source) error {
		ids, err := give(o, ctx, sources)
		if err != nil {
			return err
		}
		return printPollerIDs(&a.Output, done, ids)
	}
}

func (a *app) startPollers(ctx context.Context, o *operate.Operator, sources []relay.Source) error {
	if err := o.StartPollers(ctx, sources); err != nil {
		return err
	}
	return showPollers(ctx, a, o.Launcher, sources)
}

func (a *app) stopPollers(ctx context.Context, o *operate.Operator, sources []relay.Source) error {
	pollers, err := operate.RunningPollers(ctx, o.Launcher, sources)
	if err != nil {
		return err
	}
	if len(pollers.Pollers) > 0 {
		warnOfWorkers(&a.Output, pollers)
	}
	ids := pollers.IDs()
	if err := o.StopPollers(ctx, sources, ids); err != nil {
		return err
	}
	return printPollerIDs(&a.Output, "stopped", ids)
}

func printPollerIDs(out *terminal.Output, done string, ids []string) error {
	return out.Print(map[string][]string{done: ids}, func(w io.Writer) {
		for _, id := range ids {
			terminal.Row(w, done, id)
		}
		if len(ids) == 0 {
			terminal.Row(w, "no poller was running")
		}
	})
}

func showPollers(ctx context.Context, a *app, launcher *launch.Launcher, sources []relay.Source) error {
	pollers, err := operate.ReadPollers(ctx, launcher, sources)
	if err == nil {
		warnOfPollers(&a.Output, pollers)
	}
	return show(a, pollers, err, printPollers)
}

func warnOfWorkers(out *terminal.Output, pollers operate.Pollers) {
	if pollers.Workers == 0 {
		out.Note("warning: %s: nothing happens until one runs; start a worker", pollers.ServedBy.Absent(pollers.TaskQueue, time.Now()))
	}
}

// warnOfPollers warns if a source's events are not started, and names the next command.
func warnOfPollers(out *terminal.Output, pollers operate.Pollers) {
	warnOfWorkers(out, pollers)
	idle := pollers.Idle()
	switch {
	case !pollers.Any(operate.PollerRunning, operate.PollerPausing, operate.PollerPaused):
		out.Note("warning: no outbox poller is running, so no event starts; run `starter poller start`")
	case len(idle) > 0:
		out.Note("warning: no poller of the sources %s is running, so none of their events starts; run `starter poller start`",
			strings.Join(idle, ", "))
	case pollers.Any(operate.PollerPausing):
		out.Note("warning: a poller is about to pause: it starts only the events that it has claimed")
	case pollers.Any(operate.PollerPaused):
		out.Note("warning: a poller is paused, and events wait in the outbox; `starter poller resume` lets it continue")
	}
	if len(pollers.Others) > 0 {
		out.Note("warning: other installations run in this namespace, with the task queues %s: no two of them may have an event "+
			"with the same id, and each needs a separate RabbitMQ vhost",
			strings.Join(pollers.Others, ", "))
	}
}

func printPollers(w io.Writer, pollers operate.Pollers) {
	terminal.Row(w, "POLLER", "STATUS", "SINCE", "LAST HEARTBEAT", "ATTEMPT", "LAST FAILURE")
	for _, p := range pollers.Pollers {
		terminal.Row(w, p.ID, p.Status, terminal.Clock(p.Since), terminal.Clock(p.LastHeartbeat), p.Attempt, terminal.Dash(p.LastFailure))
	}
	terminal.Row(w)
	if len(pollers.ServedBy) == 0 {
		terminal.Row(w, pollers.ServedBy.Absent(pollers.TaskQueue, time.Now()))
		return
	}
	terminal.Row(w, "WORKER OF "+pollers.TaskQueue, "STATUS", "LAST SEEN")
	for _, worker := range pollers.ServedBy {
		terminal.Row(w, worker.Identity, worker.Status, terminal.Clock(&worker.LastSeen))
	}
}
