package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/explain"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/relay"
	"herald/internal/terminal"
)

func statusCommand(a *app) *cobra.Command {
	since := terminal.Age{Duration: 24 * time.Hour, Text: "24h"}
	var source string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the backlog, the deliveries and the pollers",
		Long: `Show the backlog of each outbox, the deliveries and the pollers. For an outbox of another
service, PENDING counts the rows in its table. FAILED and OPEN count Herald's events from
it: OPEN events wait for their start or for their topic. If the database of an outbox does
not answer, only its figures are missing.

It warns if no poller runs, and if other installations run in the same Temporal namespace:
no two of them may have an event with the same id.`,
		Example: "  starter status\n  starter status --since 1h -o json\n  starter status --source orders",
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			return a.status(ctx, since, source)
		}),
	}
	sourceFlag(a, cmd, &source, "only the backlog and the pollers of this source")
	terminal.AgeFlag(cmd.Flags(), &since, "since", "count deliveries planned since: an age (24h, 7d)")
	return cmd
}

// statusView is the output of `starter status`.
type statusView struct {
	explain.Backlog
	Since string `json:"since"`
	sourcesView
}

// sourceTimeout bounds the count of one table of another service.
const sourceTimeout = 5 * time.Second

func (a *app) status(ctx context.Context, since terminal.Age, source string) error {
	sources, err := sourcesNamed(a, source)
	if err != nil {
		return err
	}
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	view := statusView{Since: since.Text}
	if view.Sources, err = operate.ReadSources(ctx, db, sources, sourceTimeout); err != nil {
		return err
	}
	if source == "" {
		if view.Backlog, err = (explain.Explainer{DB: db}).Backlog(ctx, since.Duration); err != nil {
			return err
		}
	}
	warnOfSources(a, view.Sources)
	warnOfAmbiguous(a, view.LastSweep)
	addPollers(ctx, a, &view.sourcesView, sources)
	if source == "" {
		return a.Print(view, func(w io.Writer) { printStatus(w, view) })
	}
	return a.Print(view.sourcesView, func(w io.Writer) {
		printSourceStates(w, view.Sources)
		terminal.Row(w)
		printPollersOf(w, view.sourcesView)
	})
}

func printStatus(w io.Writer, view statusView) {
	printBacklog(w, view)
	printUntold(w, view)
	printFollowUps(w, view.FollowUps)
	printProviders(w, view.Providers)
	printSenders(w, view.Senders)
	printSweep(w, view.Backlog)
	terminal.Row(w)
	printCounts(w, view)
	terminal.Row(w)
	printPollersOf(w, view.sourcesView)
}

// printBacklog prints each source's backlog, as a table if there are several sources.
func printBacklog(w io.Writer, view statusView) {
	if len(view.Sources) > 1 {
		printSourceStates(w, view.Sources)
		terminal.Row(w)
		return
	}
	terminal.Row(w, "pending events", view.Pending)
	terminal.Row(w, "failed events", view.Failed)
	if view.Pending > 0 {
		terminal.Row(w, "oldest pending", view.OldestPending.Round(time.Millisecond))
	}
}

func printCounts(w io.Writer, view statusView) {
	if len(view.Deliveries) == 0 {
		terminal.Row(w, "no deliveries were planned in the last "+view.Since)
		return
	}
	terminal.Row(w, "deliveries planned in the last "+view.Since)
	terminal.Row(w, "CHANNEL", "STATUS", "COUNT")
	for _, d := range view.Deliveries {
		terminal.Row(w, d.Channel, d.Status, d.Count)
	}
}

// printUntold prints the number of events that notified nobody, or not everybody, and how to
// list them.
func printUntold(w io.Writer, view statusView) {
	for _, u := range view.Untold {
		told := "told nobody"
		if u.Outcome == notification.EventProblem {
			told = "told only some"
		}
		terminal.Row(w, told, fmt.Sprintf("%d in the last %s, see `starter event list --outcome %s`", u.Count, view.Since, u.Outcome))
	}
}

// printFollowUps prints the number of pending follow-ups, if there are any.
func printFollowUps(w io.Writer, f explain.FollowUps) {
	if f.Pending > 0 {
		oldest := time.Duration(f.OldestSeconds * float64(time.Second)).Round(time.Second)
		terminal.Row(w, "follow-ups",
			fmt.Sprintf("%d wait, the oldest for %s: dead letters and escalations; a worker that serves events handles them", f.Pending, oldest))
	}
}

func printSweep(w io.Writer, b explain.Backlog) {
	if b.Incomplete > 0 {
		terminal.Row(w, "incomplete events", b.Incomplete)
	}
	last := b.LastSweep
	if last != nil && last.Ambiguous > 0 {
		terminal.Row(w, "perhaps sent", fmt.Sprintf("%s open rows whose workflow completed, see `starter restore --dry-run`",
			terminal.Grouped(last.Ambiguous)))
	}
	if last == nil {
		terminal.Row(w, "last sweep", "none yet")
		return
	}
	terminal.Row(w, "last sweep", fmt.Sprintf("%s: %d looked at, %d started again, %d closed, %d failed",
		terminal.Clock(&last.At), last.Looked, last.StartedAgain, last.Closed, last.Failed))
}

// sourcesView is the output of `starter status --source`.
type sourcesView struct {
	Sources       []operate.SourceState `json:"sources"`
	Pollers       *operate.Pollers      `json:"pollers"` // null if Temporal is out of reach
	PollerProblem string                `json:"poller_problem,omitempty"`
}

// warnOfSources warns about each source whose table could not be counted.
func warnOfSources(a *app, states []operate.SourceState) {
	for _, state := range states {
		if state.Problem != "" {
			a.Note("warning: cannot read the table of %s: %s; `starter source check %s` checks only this source", state.Name, state.Problem,
				state.Name)
		}
	}
}

// warnOfAmbiguous warns if the last sweep found rows that lost their end.
func warnOfAmbiguous(a *app, last *notification.Sweep) {
	if last != nil && last.Ambiguous > 0 {
		a.Note("warning: Postgres has lost the end of %d rows, perhaps in a failover: their messages may have been sent; "+
			"docs/disaster.md has the next steps, `starter restore --dry-run` names them", last.Ambiguous)
	}
}

// addPollers adds the pollers of sources, unless Temporal is out of reach.
func addPollers(ctx context.Context, a *app, view *sourcesView, sources []relay.Source) {
	var pollers operate.Pollers
	launcher, err := a.launcher(ctx)
	if err == nil {
		pollers, err = operate.ReadPollers(ctx, launcher, sources)
	}
	if err != nil {
		view.PollerProblem = err.Error()
		a.Note("warning: cannot read the pollers; %s", nextStep(err))
		return
	}
	warnOfLoss(ctx, a, launcher)
	if pollers.Others, err = operate.OtherInstallations(ctx, launcher); err != nil {
		a.Note("warning: %v", err) // only Temporal's visibility store may be down
	}
	view.Pollers = &pollers
	warnOfPollers(&a.Output, pollers)
}

// warnOfLoss warns if Temporal does not know pollers that operators want to run.
func warnOfLoss(ctx context.Context, a *app, launcher *launch.Launcher) {
	db, _, err := a.store(ctx)
	if err != nil {
		return // the command has read or reported it before
	}
	if lost, err := operate.LostPollers(ctx, launcher, db); err == nil && len(lost) > 0 {
		a.Note("warning: Temporal does not know %d of the pollers that operators have started: it may have lost its database; "+
			"docs/disaster.md has the next steps, `starter restore` starts everything again", len(lost))
	}
}

func printPollersOf(w io.Writer, view sourcesView) {
	if view.Pollers == nil {
		terminal.Row(w, "pollers", "unknown: "+view.PollerProblem)
		return
	}
	printPollers(w, *view.Pollers)
}

func printSourceStates(w io.Writer, states []operate.SourceState) {
	terminal.Row(w, "SOURCE", "PENDING", "OLDEST", "FAILED", "RESTING TOPICS")
	for _, state := range states {
		pending, oldest := "unknown", "-"
		if state.Problem == "" {
			pending, oldest = strconv.Itoa(*state.Pending), oldestOf(state)
		}
		terminal.Row(w, state.Name, pending, oldest, state.Failed, state.Resting)
	}
}

func oldestOf(state operate.SourceState) string {
	if *state.Pending == 0 {
		return "-"
	}
	return time.Duration(*state.OldestSeconds * float64(time.Second)).Round(time.Millisecond).String()
}
