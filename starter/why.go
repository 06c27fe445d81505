package main

import (
	"context"

	"github.com/spf13/cobra"

	"herald/internal/db"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/terminal"
)

func whyCommand(a *app) *cobra.Command {
	var filter list.RecipientFilter
	cmd := &cobra.Command{
		Use:   "why --recipient TYPE/ID",
		Short: "Show what a recipient got and did not get, and why",
		Long: `Show what a recipient got and did not get, the latest first: each decision about an event
and a channel, with its reason and its delivery. It shows no address and no text.
starter delivery why explains one decision in detail.`,
		Example: `  starter why --recipient CUSTOMER/42
  starter why --recipient CUSTOMER/42 --channel sms --since 7d
  starter why --recipient RESTAURANT_USER/10 -o json`,
	}
	recipientFlag(a, cmd, &filter.UserType, &filter.UserID, "the recipient: CUSTOMER/42")
	terminal.TimeFlag(cmd.Flags(), &filter.Since, "since", "only since: an age (24h, 7d) or a time (2026-11-21T08:00:00Z)")
	terminal.WordFlag(cmd, &filter.Channel, "channel", notification.Channels(), "only this channel")
	terminal.Require(cmd, "recipient")
	return listCommand(a, cmd, listing[list.RecipientDecision]{
		name: "decisions", none: "nothing was decided about them: no event named them, or it was purged",
		header: []string{"DECIDED", "EVENT", "TYPE", "CHANNEL", "DECISION", "STATUS", "WHY"},
		cells: func(d list.RecipientDecision) []string {
			return []string{
				terminal.Clock(&d.DecidedAt), d.EventID, terminal.Dash(d.EventType), string(d.Channel), string(d.Decision),
				string(terminal.Dash(d.Status)), terminal.Dash(d.Reason),
			}
		},
		read: func(ctx context.Context, db *db.DB, _ []string, from list.Place) (list.Page[list.RecipientDecision], error) {
			found, err := list.Reader{Pool: db.Pool}.RecipientDecisions(ctx, filter, from.Limit+1)
			for i := range found {
				found[i].Reason = explain.Reason(found[i], filter.UserType)
			}
			return list.PageOf(found, from.Limit, nil), err
		},
	})
}
