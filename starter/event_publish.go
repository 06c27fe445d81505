package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

// maxPublishRate is the highest --rate of `starter event publish`.
const maxPublishRate = 1000

// publishFlags holds the flags of `starter event publish`.
type publishFlags struct {
	confirmation
	since time.Time
	rate  int
}

func publishEventsCommand(a *app) *cobra.Command {
	var flags publishFlags
	cmd := &cobra.Command{
		Use:   "publish",
		Short: "Publish the messages of events to RabbitMQ again",
		Long: `Publish the messages of events to RabbitMQ again, the oldest first, with the same message ids:
after RabbitMQ has lost its queues. Consumers that remember message ids handle none twice.

Nobody is notified again. Events whose message RabbitMQ has not had yet are left out: their
workflows publish it. A worker does the work, and continues if you interrupt the command.
It publishes only with --yes.`,
		Example: "  starter event publish --since 2h --dry-run\n  starter event publish --since 2h --yes",
		RunE: a.within(0, func(ctx context.Context, _ []string) error {
			switch {
			case flags.since.IsZero():
				return misused(errors.New("name the age of the oldest event: --since 2h"))
			case flags.rate < 1 || flags.rate > maxPublishRate:
				return misused(fmt.Errorf("--rate %d: give a number from 1 to %d", flags.rate, maxPublishRate))
			}
			return a.operate(ctx, func(ctx context.Context, o *operate.Operator) error { return publishEvents(ctx, a, o, flags) })
		}),
	}
	terminal.TimeFlag(cmd.Flags(), &flags.since, "since", "events written since: an age (2h, 1d) or a time (2026-11-21T08:00:00Z)")
	cmd.Flags().IntVar(&flags.rate, "rate", 100, "events a second")
	flags.register(cmd, "publish")
	return cmd
}

// publishView is the output of `starter event publish`.
type publishView struct {
	DryRun  bool      `json:"dry_run"`
	Since   time.Time `json:"since"`
	Matched int       `json:"matched"`
	notification.Republished
}

func publishEvents(ctx context.Context, a *app, o *operate.Operator, flags publishFlags) error {
	matched, err := o.PlanRepublish(ctx, flags.since)
	if err != nil {
		return err
	}
	view := publishView{DryRun: flags.dryRun, Since: flags.since.UTC(), Matched: matched}
	return confirmed(a, flags.confirmation, rowChange[publishView]{
		verb: "publish", done: "published", plan: view, rows: terminal.Grouped(matched), idle: matched == 0, print: printPublished,
		do: func(set func(string)) (publishView, error) {
			set("waiting for a worker …")
			view.Republished, err = o.Republish(ctx, flags.since, flags.rate, func(done notification.Republished) {
				set(fmt.Sprintf("%s of %s events published", terminal.Grouped(done.Events), terminal.Grouped(matched)))
			})
			return view, err
		},
	})
}

func printPublished(w io.Writer, v publishView) {
	terminal.Row(w, "written since", terminal.Clock(&v.Since))
	terminal.Row(w, "events that RabbitMQ has had", terminal.Grouped(v.Matched))
	if !v.DryRun {
		terminal.Row(w, "published again", terminal.Grouped(v.Events))
		terminal.Row(w, "refused by RabbitMQ", terminal.Grouped(v.Refused))
	}
}
