package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/operate"
)

func (a *app) statusCommand() *cobra.Command {
	since := console.Age{Duration: 24 * time.Hour, Text: "24h"}
	var source string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the backlog, the deliveries and the pollers",
		Long: `Show the backlog of each outbox, the deliveries and the pollers. Of an outbox of another
service, PENDING counts the rows of its own table, FAILED and OPEN the events that Herald
has of it: OPEN ones wait for their start or for their topic, no more than 1,000 of a
source at once. A database that does not answer costs its own figures alone.

It warns where nothing is started, where other installations run in the same namespace
of Temporal, whose events must have other ids than yours, and, if RABBITMQ_URL is set,
where another installation uses the same vhost of the broker.`,
		Example: "  starter status\n  starter status --since 1h -o json\n  starter status --source orders",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if source != "" {
				return a.statusOf(ctx, source)
			}
			return a.status(ctx, since)
		}),
	}
	a.sourceFlag(cmd, &source, "only the backlog and the pollers of this source")
	console.AgeFlag(cmd.Flags(), &since, "since", "count the deliveries that were planned since: an age (24h, 7d)")
	return cmd
}

// statusView is what `starter status` prints.
type statusView struct {
	explain.Backlog
	Since string    `json:"since"`
	Vhost vhostView `json:"vhost"`
	sourcesView
}

func (a *app) status(ctx context.Context, since console.Age) error {
	db, cfg, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	view := statusView{Since: since.Text}
	if view.Backlog, err = (explain.Explainer{Store: db}).Backlog(ctx, since.Duration); err != nil {
		return err
	}
	if view.Sources, err = operate.ReadSources(ctx, db, cfg.Sources); err != nil {
		return err
	}
	a.warnOfSources(view.Sources)
	view.Vhost = a.vhost(ctx, cfg)
	a.addPollers(ctx, &view.sourcesView, cfg.Sources)
	return a.Print(view, func(w io.Writer) { printStatus(w, view) })
}

func printStatus(w io.Writer, view statusView) {
	printBacklog(w, view)
	printUntold(w, view)
	printFollowUps(w, view.FollowUps)
	printSweep(w, view.Backlog)
	printVhost(w, view.Vhost)
	console.Row(w)
	printCounts(w, view)
	console.Row(w)
	printPollersOf(w, view.sourcesView)
}

// printBacklog prints the backlog of each source, in a table where there are several.
func printBacklog(w io.Writer, view statusView) {
	if len(view.Sources) > 1 {
		printSourceStates(w, view.Sources)
		console.Row(w)
		return
	}
	console.Row(w, "pending events", view.Pending)
	console.Row(w, "failed events", view.Failed)
	if view.Pending > 0 {
		console.Row(w, "oldest pending", view.OldestPending.Round(time.Millisecond))
	}
}

func printCounts(w io.Writer, view statusView) {
	if len(view.Deliveries) == 0 {
		console.Row(w, "no deliveries were planned in the last "+view.Since)
		return
	}
	console.Row(w, "deliveries planned in the last "+view.Since)
	console.Row(w, "CHANNEL", "STATUS", "COUNT")
	for _, d := range view.Deliveries {
		console.Row(w, d.Channel, d.Status, d.Count)
	}
}

// printUntold prints how many events told nobody, or not everybody, and how to list them.
func printUntold(w io.Writer, view statusView) {
	for _, u := range view.Untold {
		told := "told nobody"
		if u.Outcome == notification.EventProblem {
			told = "told not all"
		}
		console.Row(w, told, fmt.Sprintf("%d in the last %s, see `starter event list --outcome %s`", u.Count, view.Since, u.Outcome))
	}
}

// printFollowUps says how much is still to be done after receipts, if anything.
func printFollowUps(w io.Writer, f explain.FollowUps) {
	if f.Pending > 0 {
		oldest := time.Duration(f.OldestSeconds * float64(time.Second)).Round(time.Second)
		console.Row(w, "follow-ups", fmt.Sprintf("%d wait, the oldest for %s: dead letters and escalations after receipts, which a worker that serves events sees to", f.Pending, oldest))
	}
}

func printSweep(w io.Writer, b explain.Backlog) {
	if b.Incomplete > 0 {
		console.Row(w, "incomplete events", b.Incomplete)
	}
	last := b.LastSweep
	if last == nil {
		console.Row(w, "last sweep", "none yet")
		return
	}
	console.Row(w, "last sweep", fmt.Sprintf("%s: %d looked at, %d started again, %d closed, %d failed",
		console.Clock(&last.At), last.Looked, last.StartedAgain, last.Closed, last.Failed))
}
