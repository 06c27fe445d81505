package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func (a *app) mergeCommand() *cobra.Command {
	var from, to notification.RecipientKey
	var flags confirmation
	cmd := &cobra.Command{
		Use:   "merge FROM TO",
		Short: "Move a person's settings, devices, inbox and waiting deliveries to another",
		Long: `Move the rows of one person to another, who is the same human being: preferences,
categories, settings, devices, deliveries with their ids, and decisions, so that no replay
tells them again. If both have a preference, the later choice counts; of other settings,
the target's. If both got an event, each keeps the row, and what waits for FROM ends.

The directory stays as it is: end FROM there, or erase them. Run it again, and it continues
until nothing is left. It moves only with --yes.`,
		Example: `  starter recipient merge GUEST/7 CUSTOMER/42 --dry-run
  starter recipient merge GUEST/7 CUSTOMER/42 --reason 'signed up' --yes`,
		Args:              recipientArgs(&from, &to),
		ValidArgsFunction: a.completeUserTypes(),
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			plan, err := o.PlanMerge(ctx, from, to)
			if err != nil {
				return err
			}
			plan.DryRun = flags.dryRun
			return confirmed(a, flags, rowChange[operate.Merger]{
				verb: "move", done: "moved", plan: plan, rows: terminal.Grouped(plan.Rows()), idle: plan.Rows() == 0, print: printMerger,
				do: func(set func(string)) (operate.Merger, error) {
					return o.Merge(ctx, plan, func(m operate.Merger) { set(terminal.Grouped(m.Rows()) + " rows moved …") })
				},
			})
		}),
	}
	flags.register(cmd, "move")
	return cmd
}

func printMerger(w io.Writer, m operate.Merger) {
	if m.Rows() == 0 {
		terminal.Row(w, "nothing is left to move")
		return
	}
	terminal.Row(w, "TABLE", "ROWS")
	for _, t := range m.Tables {
		terminal.Row(w, t.Table, terminal.Grouped(t.Rows))
	}
	if m.Cancelled > 0 {
		terminal.Row(w)
		terminal.Row(w, fmt.Sprintf("cancelled, because %s gets them too: %d deliveries", m.To, m.Cancelled))
	}
}
