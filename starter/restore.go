package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

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
	var since time.Time
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Start everything that Temporal has lost again, from the tables",
		Long: `Start everything that Temporal has lost again, from the tables: after Temporal lost its
database, or got an older backup of it. Postgres has all that Herald needs.

It adds the search attributes, makes the workers' generation current, starts the schedules
and the pollers, paused pollers as paused, and then the workflow of each open event and
delivery: first what is due, then what is due within an hour, then the rest. Nothing that was
sent is sent again. At the end it asks Temporal for the workflow of each open row.

Postgres may have lost its last commits, in a failover to a standby that lagged or with a
backup. Then some rows are open although their workflow completed: their message may have
been sent. The command names them, and leaves them as they are. With --resend ambiguous it
sends them again, so some people get a message twice. With --resend none it ends them.
With --lost-since it also names attempts without an end, and events that Temporal started and
event_outbox lacks: Postgres has lost them, or they were purged.

Start the workers first: they do the work. You can interrupt the command at any time: the
workers continue, and the same command shows the progress again. A second restore starts
nothing. docs/disaster.md has all steps, in order.

It exits with 1 if a workflow is missing at the end, a row is still ambiguous or an event is
lost; with --dry-run, if anything is missing.`,
		Example: "  starter restore --dry-run\n  starter restore\n  starter restore --rate 500 -o json\n" +
			"  starter restore --dry-run --lost-since 1h\n  starter restore --resend none",
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			if in.Rate < 1 || in.Rate > maxRestoreRate {
				return misused(fmt.Errorf("--rate %d: give a number from 1 to %d", in.Rate, maxRestoreRate))
			}
			if in.DryRun && in.Resend != "" {
				return misused(errors.New("--dry-run sends nothing: leave out --resend"))
			}
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error { return restore(ctx, a, o, in, since) })
		}),
	}
	cmd.Flags().IntVar(&in.Rate, "rate", operate.RestoreRate, "questions to Temporal a second, one or two for each row")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "start nothing, and count what is missing")
	terminal.WordFlag(cmd, &in.Resend, "resend", notification.Resends(), "what to do with rows whose message may have been sent")
	terminal.TimeFlag(cmd.Flags(), &since, "lost-since",
		"name events that started since and have no row: an age (1h), below the retention of events, or a time (2026-11-21T08:00:00Z)")
	return cmd
}

// restoreView is the output of `starter restore`.
type restoreView struct {
	operate.RestoreOutcome
	LostEvents *operate.LostEvents `json:"lost_events,omitempty"` // null without --lost-since
}

func restore(ctx context.Context, a *app, o *operate.Operator, in operate.Restoring, since time.Time) error {
	set, stop := a.ProgressLine("waiting for a worker …")
	outcome, err := o.Restore(ctx, in, func(progress notification.Restored) { set(restoreProgress(progress)) })
	view := restoreView{RestoreOutcome: outcome}
	if err == nil && !since.IsZero() {
		set("looking for lost events …")
		view.LostEvents = new(operate.LostEvents)
		*view.LostEvents, err = o.LostEvents(ctx, since)
	}
	stop()
	if err != nil {
		return err
	}
	if err := a.Print(view, func(w io.Writer) { printRestore(w, view) }); err != nil {
		return err
	}
	return view.problem()
}

// problem returns what an operator has to do next; nil: nothing.
func (v restoreView) problem() error {
	left := v.Left
	switch {
	case v.IsWhole() && (v.LostEvents == nil || v.LostEvents.Lost == 0):
		return nil
	case v.IsWhole():
		return advice.With(errors.New("event_outbox lacks events that Temporal started"), "let their producers write them again")
	case v.DryRun && (left.MissingEvents+left.MissingDeliveries > 0 || len(v.Lost) > 0):
		return advice.With(errors.New("workflows are missing in Temporal"), "run `starter restore`")
	case left.MissingEvents+left.MissingDeliveries > 0:
		return advice.With(errors.New("workflows are still missing in Temporal"), "see the workers' log, and run it again")
	default:
		return advice.With(errors.New("the database has lost the end of some rows: their messages may have been sent"),
			"run `starter restore --resend none`, or `--resend ambiguous` to send them again")
	}
}

func restoreProgress(p notification.Restored) string {
	return fmt.Sprintf("asked Temporal %s times; the tables have %s open events, and %s deliveries of ended events; %s started, %s missing",
		terminal.Grouped(p.Looked), terminal.Grouped(p.Events), terminal.Grouped(p.Deliveries), terminal.Grouped(p.StartedAgain),
		terminal.Grouped(p.MissingEvents+p.MissingDeliveries))
}

func printRestore(w io.Writer, r restoreView) {
	terminal.Row(w, "generation", r.Generation)
	if !r.DryRun {
		terminal.Row(w, "started", fmt.Sprintf("%s workflows of events and deliveries", terminal.Grouped(r.Restored.StartedAgain)))
		for _, id := range r.Lost {
			terminal.Row(w, "started", id)
		}
		if ended := r.Restored.Closed + r.Restored.Failed; ended > 0 {
			terminal.Row(w, "ended", fmt.Sprintf("%s rows whose workflow an operator had ended, or that cannot start", terminal.Grouped(ended)))
		}
		if sent := r.Restored.Resent; sent > 0 {
			terminal.Row(w, "sent again", fmt.Sprintf("%s ambiguous events and deliveries", terminal.Grouped(sent)))
		}
		if dropped := r.Restored.Dropped; dropped > 0 {
			terminal.Row(w, "not sent again", fmt.Sprintf("%s ambiguous events and deliveries", terminal.Grouped(dropped)))
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
	if r.Left.Ambiguous > 0 {
		terminal.Row(w, "ambiguous", fmt.Sprintf("%s open rows whose workflow completed", terminal.Grouped(r.Left.Ambiguous)))
	}
	for _, id := range r.Left.AmbiguousIDs {
		terminal.Row(w, "perhaps sent", id)
	}
	if lost := r.LostEvents; lost != nil {
		terminal.Row(w, "lost", fmt.Sprintf("%s of %s events that started since %s", terminal.Grouped(lost.Lost), terminal.Grouped(lost.Looked),
			terminal.Clock(&lost.Since)))
		for _, id := range lost.IDs {
			terminal.Row(w, "lost", id)
		}
		terminal.Row(w, "no end", terminal.Grouped(lost.Unended)+" attempts, each of which is repeated once")
		for _, id := range lost.UnendedIDs {
			terminal.Row(w, "no end", id)
		}
	}
}
