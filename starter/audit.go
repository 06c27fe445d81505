package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/list"
	"herald/internal/terminal"
)

func auditCommand(a *app) *cobra.Command {
	var filter list.ActionFilter
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Show who changed what, the latest first",
		Long: `Show the changes that operators made through starter, the latest first. The actor is
HERALD_ACTOR, else user@host. starter records an order before it changes anything, so the
list also has failed and interrupted actions. Changes made in Temporal's UI are only in
Temporal's histories.`,
		Example: `  starter audit
  starter audit --target evt-1
  starter audit --actor ada@ops --since 24h -o json`,
	}
	flags := cmd.Flags()
	terminal.TextFlag(flags, &filter.Target, "target", "only changes of this event, poller, table or delivery; a delivery includes its event")
	terminal.TextFlag(flags, &filter.Actor, "actor", "only changes by this actor")
	terminal.TextFlag(flags, &filter.Command, "command", `only this command: "event retry"`)
	terminal.TimeFlag(flags, &filter.Since, "since", "only since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	return listCommand(a, cmd, listing[list.Action]{
		name: "actions", none: "nothing was changed",
		header: []string{"AT", "ACTOR", "COMMAND", "TARGET", "DETAIL"},
		cells: func(action list.Action) []string {
			return []string{terminal.Clock(&action.At), action.Actor, action.Command, action.Target, terminal.Dash(action.Detail)}
		},
		read: func(ctx context.Context, db *db.DB, _ []string, from list.Place) (list.Page[list.Action], error) {
			return list.Reader{Pool: db.Pool}.Actions(ctx, filter, from)
		},
		pages: true,
	})
}

// printActions prints the operators' actions on the event or the delivery printed above.
func printActions(w io.Writer, actions []list.Action) {
	if len(actions) == 0 {
		return
	}
	terminal.Row(w)
	terminal.Row(w, "WHAT OPERATORS DID")
	terminal.List(w, []string{"AT", "ACTOR", "COMMAND", "DETAIL"}, actions, func(action list.Action) []string {
		return []string{terminal.Clock(&action.At), action.Actor, action.Command, terminal.Dash(action.Detail)}
	})
}
