package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func (a *app) workersCommand() *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the generations of workers, and which one gets the tasks",
		Long: `Show the generations of workers, and which one gets the tasks. A generation is the
version of the commands that workflows issue; only a release that changes them has
a new one. Workers of release 0.2 have no version and count as generation 3.

STATE is CURRENT, RAMPING, WAITING (not promoted yet), DRAINING or DRAINED. A generation
drains when it no longer gets tasks: each open workflow moves to the current generation at
its next task. You may stop its workers meanwhile.`,
		Example: "  starter workers list\n  starter workers list -o json",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
				fleet, err := operate.ReadFleet(ctx, o.Launcher, o.Store)
				if err != nil {
					return err
				}
				return a.Print(fleet, func(w io.Writer) { printFleet(w, fleet) })
			})
		}),
	}
	return group("workers", "Show generations of workers, ramp or promote one", list, a.promoteCommand(), a.rampCommand())
}

func (a *app) promoteCommand() *cobra.Command {
	var rollback bool
	promote := &cobra.Command{
		Use:   "promote [GENERATION]",
		Short: "Send all tasks to the workers of a generation",
		Long: `Send all tasks to the workers of a generation, by default the newest that polls. The command
ends the workflows that these workers cannot continue, and starts their events again from
the tables: nothing is lost or sent twice. An interrupted promotion continues when you
repeat the command, or when a worker starts.

A worker promotes its generation when it starts, unless WORKER_PROMOTE=manual. After a
rollback, only this command promotes the newer generation again.`,
		Example: "  starter workers promote\n  starter workers promote 3 --rollback",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
				generation, err := generationOf(ctx, o.Launcher, args)
				if err != nil {
					return err
				}
				return a.promote(ctx, o, operate.Promotion{Generation: generation, Rollback: rollback})
			})
		}),
	}
	promote.Flags().BoolVar(&rollback, "rollback", false, "the generation may be older than the current one")
	return promote
}

// generationOf returns the generation in args, or the newest generation that has polled.
func generationOf(ctx context.Context, launcher *launch.Launcher, args []string) (int, error) {
	if len(args) > 0 {
		generation, err := strconv.Atoi(args[0])
		if err != nil || generation < launch.Unversioned {
			return 0, misused(fmt.Errorf("%q is not a generation: give a number, at least %d", args[0], launch.Unversioned))
		}
		return generation, nil
	}
	generations, err := launcher.Generations(ctx)
	if err != nil {
		return 0, err
	}
	if len(generations.Seen) == 0 {
		return 0, advice.With(errors.New("no worker with a generation has polled"), "start a worker")
	}
	return generations.Seen[0], nil
}

func (a *app) rampCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ramp PERCENT [GENERATION]",
		Short: "Send some workflows to the workers of a newer generation",
		Long: `Send a percentage of all workflows to the workers of a newer generation, by default the
newest that polls, and the rest to the current generation. Repeat the command with
another percentage: workflows move in both directions, because events start with the
commands of the current generation until you promote the newer one. 0 ends the ramp.

Start the newer workers with WORKER_PROMOTE=manual, else they promote their generation
at once. While a generation is ramping, no worker promotes itself. After the end of its
ramp, only ` + "`starter workers promote`" + ` promotes it. Workers of release 0.2 cannot share
workflows with newer ones.`,
		Example: "  starter workers ramp 10\n  starter workers ramp 50 5\n  starter workers ramp 0\n  starter workers promote",
		Args:    cobra.RangeArgs(1, 2),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			percent, err := percentOf(args[0])
			if err != nil {
				return err
			}
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
				order := operate.Ramp{Percent: percent}
				if percent > 0 {
					if order.Generation, err = generationOf(ctx, o.Launcher, args[1:]); err != nil {
						return err
					}
				}
				ramped, err := o.Ramp(ctx, order)
				if err != nil {
					return err
				}
				return a.Print(ramped, func(w io.Writer) { printRamped(w, ramped) })
			})
		}),
	}
}

func percentOf(text string) (float32, error) {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 32)
	if err != nil || !(percent >= 0 && percent <= 100) {
		return 0, misused(fmt.Errorf("%q is not a percentage: name a number from 0 to 100", text))
	}
	return float32(percent), nil
}

func printRamped(w io.Writer, ramped operate.Ramped) {
	if ramped.Percent == 0 {
		terminal.Row(w, fmt.Sprintf("generation %d gets all tasks", ramped.Current))
		return
	}
	terminal.Row(w, fmt.Sprintf("generation %d gets %g %% of all workflows, and generation %d the rest", ramped.Generation, ramped.Percent, ramped.Current))
}

func (a *app) promote(ctx context.Context, o *operate.Operator, order operate.Promotion) error {
	shown := operate.Promoted{}
	progress := func(p operate.Promoted) {
		if p != shown {
			a.Note("%d events ended, %d of them started again", p.Ended, p.Restarted)
		}
		shown = p
	}
	promoted, err := o.Promote(ctx, order, progress)
	if err != nil {
		return err
	}
	return a.Print(promoted, func(w io.Writer) {
		if !promoted.Changed {
			terminal.Row(w, fmt.Sprintf("generation %d is current already", promoted.Generation))
			return
		}
		terminal.Row(w, fmt.Sprintf("generation %d is current", promoted.Generation))
		terminal.Row(w, "previous generation", promoted.From)
		terminal.Row(w, "events started again", promoted.Restarted)
		if promoted.Remaining > 0 {
			terminal.Row(w, "left to the sweep", fmt.Sprintf("%d events of sources that OUTBOX_SOURCES lacks here", promoted.Remaining))
		}
	})
}

func printFleet(w io.Writer, fleet operate.Fleet) {
	terminal.Row(w, "GENERATION", "STATE", "WORKERS", "OPEN WORKFLOWS")
	for _, g := range fleet.Generations {
		name := strconv.Itoa(g.Generation)
		if g.Generation == launch.Unversioned {
			name += " (no version)"
		}
		state := string(g.State)
		if g.State == operate.Ramping {
			state += fmt.Sprintf(" %g %%", g.Percent)
		}
		terminal.Row(w, name, state, g.Workers, g.Open)
	}
	terminal.Row(w)
	if p := fleet.Promotion; p != nil {
		terminal.Row(w, "last promotion", fmt.Sprintf("generation %d to %d, began %s", p.From, p.Generation, terminal.Clock(&p.BeganAt)))
		if p.EndedAt == nil {
			terminal.Row(w, "not ended", fmt.Sprintf("%d events wait to be started again; `starter workers promote %d` continues", fleet.Restarting, p.Generation))
		}
		terminal.Row(w)
	}
	terminal.Row(w, "TASK QUEUE", "WORKER", "GENERATION", "STATUS", "LAST SEEN")
	for _, worker := range fleet.Workers {
		terminal.Row(w, worker.TaskQueue, worker.Identity, worker.Generation, worker.Status, terminal.Clock(&worker.LastSeen))
	}
}
