package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/launch"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func workersCommand(a *app) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "Show the generations of workers, and which one gets the tasks",
		Long: `Show the generations of workers, and which one gets the tasks. A generation is the
version of the commands that workflows issue; only a release that changes them has
a new one.

STATE is CURRENT, RAMPING, WAITING (not promoted yet), DRAINING or DRAINED. A generation
drains when it no longer gets tasks: each open workflow moves to the current generation at
its next task. You may stop its workers meanwhile.`,
		Example: "  starter workers list\n  starter workers list -o json",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
				fleet, err := operate.ReadFleet(ctx, o.Launcher)
				if err != nil {
					return err
				}
				return a.Print(fleet, func(w io.Writer) { printFleet(w, fleet) })
			})
		}),
	}
	return group("workers", "Show generations of workers, or promote one", list, promoteCommand(a))
}

func promoteCommand(a *app) *cobra.Command {
	var rollback bool
	promote := &cobra.Command{
		Use:   "promote [GENERATION]",
		Short: "Send all tasks to the workers of a generation",
		Long: `Send all tasks to the workers of a generation, by default the newest that polls. Open
workflows move to them at their next task.

A worker promotes its generation when it starts, unless WORKER_PROMOTE=manual. After a
rollback, only this command promotes the newer generation again. Older workers cannot
continue all workflows of newer ones: after --rollback, end these workflows as
docs/upgrading.md shows, and the sweep starts them again from the tables.`,
		Example: "  starter workers promote\n  starter workers promote 3 --rollback",
		Args:    cobra.MaximumNArgs(1),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error {
				generation, err := generationOf(ctx, o.Launcher, args)
				if err != nil {
					return err
				}
				return promote(ctx, &a.Output, o, operate.Promotion{Generation: generation, Rollback: rollback})
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
		if err != nil || generation < 1 {
			return 0, misused(fmt.Errorf("%q is not a generation: give a number, at least 1", args[0]))
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

func promote(ctx context.Context, out *terminal.Output, o *operate.Operator, order operate.Promotion) error {
	promoted, err := o.Promote(ctx, order)
	if err != nil {
		return err
	}
	return out.Print(promoted, func(w io.Writer) {
		if !promoted.Changed {
			terminal.Row(w, fmt.Sprintf("generation %d is current already", promoted.Generation))
			return
		}
		terminal.Row(w, fmt.Sprintf("generation %d is current", promoted.Generation))
		terminal.Row(w, "previous generation", promoted.From)
	})
}

func printFleet(w io.Writer, fleet operate.Fleet) {
	terminal.Row(w, "GENERATION", "STATE", "WORKERS", "OPEN WORKFLOWS")
	for _, g := range fleet.Generations {
		state := string(g.State)
		if g.State == operate.Ramping {
			state += fmt.Sprintf(" %g %%", g.Percent)
		}
		terminal.Row(w, g.Generation, state, g.Workers, g.Open)
	}
	terminal.Row(w)
	terminal.Row(w, "TASK QUEUE", "WORKER", "GENERATION", "STATUS", "LAST SEEN")
	for _, worker := range fleet.Workers {
		terminal.Row(w, worker.TaskQueue, worker.Identity, worker.Generation, worker.Status, terminal.Clock(&worker.LastSeen))
	}
}
