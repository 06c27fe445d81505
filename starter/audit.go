package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/postgres/report"
)

// shownActions bounds what `event show` and `delivery show` tell of operators.
const shownActions = 50

func (a *app) auditCommand() *cobra.Command {
	var filter report.ActionFilter
	var since console.PastTime
	var limit console.Limit
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what, the latest first",
		Long: `Show who ordered which change through starter: of an event, a delivery, a poller or
the tables, the latest first. The actor is HERALD_ACTOR, else user@host. An order is
written down before it is carried out, so that one which failed or was interrupted is
there as well. What is done in Temporal's own UI stands in Temporal's histories alone.`,
		Example: `  starter audit
  starter audit --target evt-1
  starter audit --actor ada@ops --since 24h -o json`,
		Args: cobra.NoArgs,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			filter.Since = since.Time
			return a.audit(ctx, filter, int(limit))
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Target, "target", "", "only what was done to this: an id of an event, a delivery or a poller, a table")
	flags.StringVar(&filter.Actor, "actor", "", "only what this actor did")
	flags.StringVar(&filter.Command, "command", "", `only this command: "event retry"`)
	flags.Var(&since, "since", "only since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	console.LimitFlag(flags, &limit)
	return cmd
}

// actionList is what `starter audit` prints.
type actionList struct {
	Actions []report.Action `json:"actions"`
	More    bool            `json:"more"` // there are others behind these
}

func (a *app) audit(ctx context.Context, filter report.ActionFilter, limit int) error {
	db, _, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	actions, err := report.Reader{Pool: db.Pool}.Actions(ctx, filter, limit+1)
	if err != nil {
		return err
	}
	list := actionList{Actions: actions[:min(limit, len(actions))], More: len(actions) > limit}
	return a.Print(list, func(w io.Writer) {
		if len(list.Actions) == 0 {
			console.Row(w, "nothing was changed")
			return
		}
		printActions(w, list.Actions, true)
		console.PrintMore(w, list.More)
	})
}

// printActions prints what operators did, and to what where that is not known
// already.
func printActions(w io.Writer, actions []report.Action, targets bool) {
	l := console.Listing{Header: []string{"AT", "ACTOR", "COMMAND", "DETAIL"}}
	if targets {
		l.Header = []string{"AT", "ACTOR", "COMMAND", "TARGET", "DETAIL"}
	}
	for _, action := range actions {
		cells := []string{console.Clock(&action.At), action.Actor, action.Command, action.Target, console.Dash(action.Detail)}
		if !targets {
			cells = append(cells[:3], cells[4])
		}
		l.Add(cells...)
	}
	l.Print(w)
}

// printOperators shows what operators did to what is shown above.
func printOperators(w io.Writer, actions []report.Action) {
	if len(actions) == 0 {
		return
	}
	console.Row(w)
	console.Row(w, "WHAT OPERATORS DID")
	printActions(w, actions, false)
}
