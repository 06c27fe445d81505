package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// maxRestoreRate is the highest --rate.
const maxRestoreRate = 1000

func restoreCommand(a *app) *cobra.Command {
	var in operate.Restoring
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Start everything that Temporal has lost again, from the tables",
		Long: `Start everything that Temporal has lost again, from the tables: after Temporal lost its
database, or got an older backup of it. Postgres has all that Herald needs.

It adds the search attributes, makes the workers' generation current, starts the schedules
and the pollers, paused pollers as paused, and then the workflow of each open event and
delivery: first what is due, then what is due within an hour, then the rest. Nothing that was
sent is sent again. At the end it asks Temporal for the workflow of each open row.

Start the workers first: they do the work. You can interrupt the command at any time: the
workers continue, and the same command shows the progress again. A second restore starts
nothing. docs/disaster.md has all steps, in order.

It exits with 1 if a workflow is missing at the end; with --dry-run, if anything is missing.`,
		Example: "  starter restore --dry-run\n  starter restore\n  starter restore --rate 500 -o json",
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			if in.Rate < 1 || in.Rate > maxRestoreRate {
				return misused(fmt.Errorf("--rate %d: give a number from 1 to %d", in.Rate, maxRestoreRate))
			}
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error { return restore(ctx, a, o, in) })
		}),
	}
	cmd.Flags().IntVar(&in.Rate, "rate", operate.RestoreRate, "questions to Temporal a second, one or two for each row")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "start nothing, and count what is missing")
	return cmd
}

func restore(ctx context.Context, a *app, o *operate.Operator, in operate.Restoring) error {
	set, stop := a.ProgressLine("waiting for a worker …")
	outcome, err := o.Restore(ctx, in, func(progress notification.Restored) { set(restoreProgress(progress)) })
	stop()
	if err != nil {
		return err
	}
	if err := a.Print(outcome, func(w io.Writer) { printRestore(w, outcome) }); err != nil || outcome.IsWhole() {
		return err
	}
	if in.DryRun {
		return advice.With(errors.New("workflows are missing in Temporal"), "run `starter restore`")
	}
	return advice.With(errors.New("workflows are still missing in Temporal"), "see the workers' log, and run it again")
}

func restoreProgress(p notification.Restored) string {
	return fmt.Sprintf("asked Temporal %s times; the tables have %s open events, and %s deliveries of ended events; %s started, %s missing",
		terminal.Grouped(p.Looked), terminal.Grouped(p.Events), terminal.Grouped(p.Deliveries), terminal.Grouped(p.StartedAgain),
		terminal.Grouped(p.MissingEvents+p.MissingDeliveries))
}

func printRestore(w io.Writer, r operate.RestoreOutcome) {
	terminal.Row(w, "generation", r.Generation)
	if !r.DryRun {
		terminal.Row(w, "started", fmt.Sprintf("%s workflows of events and deliveries", terminal.Grouped(r.Restored.StartedAgain)))
		for _, id := range r.Lost {
			terminal.Row(w, "started", id)
		}
		if ended := r.Restored.Closed + r.Restored.Failed; ended > 0 {
			terminal.Row(w, "ended", fmt.Sprintf("%s rows whose workflow an operator had ended, or that cannot start", terminal.Grouped(ended)))
		}
	}
	terminal.Row(w)
	terminal.Row(w, "KIND", "OPEN IN THE TABLES", "MISSING IN TEMPORAL")
	if r.DryRun {
		terminal.Row(w, "pollers", "-", len(r.Lost))
	}
	terminal.Row(w, "events", terminal.Grouped(r.Left.Events), terminal.Grouped(r.Left.MissingEvents))
	terminal.Row(w, "deliveries of ended events", terminal.Grouped(r.Left.Deliveries), terminal.Grouped(r.Left.MissingDeliveries))
	for _, id := range r.Left.MissingIDs {
		terminal.Row(w, "missing", id)
	}
}
