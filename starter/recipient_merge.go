package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func (a *app) mergeCommand() *cobra.Command {
	var dryRun, yes bool
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
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeUserTypes(),
		RunE: a.within(0, func(ctx context.Context, args []string) error {
			from, err := recipientOf(args[0])
			if err != nil {
				return misused(fmt.Errorf("FROM %w", err))
			}
			to, err := recipientOf(args[1])
			if err != nil {
				return misused(fmt.Errorf("TO %w", err))
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
				plan, err := o.PlanMerge(ctx, from, to)
				if err != nil {
					return err
				}
				return a.merge(ctx, o, plan, dryRun, yes)
			})
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "count the rows, and move nothing")
	cmd.Flags().BoolVar(&yes, "yes", false, "move what --dry-run counts")
	return cmd
}

func (a *app) merge(ctx context.Context, o *operate.Operator, m operate.Merger, dryRun, yes bool) error {
	if m.DryRun = dryRun; dryRun || m.Rows() == 0 {
		return a.Print(m, func(w io.Writer) { printMerger(w, m) })
	}
	if !yes {
		return misused(fmt.Errorf("nothing moved: %s rows match; repeat with --yes to move them", terminal.Grouped(m.Rows())))
	}
	set, stop := a.ProgressLine("")
	m, mergeErr := o.Merge(ctx, m, func(m operate.Merger) { set(fmt.Sprintf("%s rows moved …", terminal.Grouped(m.Rows()))) })
	stop()
	if err := a.Print(m, func(w io.Writer) { printMerger(w, m) }); err != nil || mergeErr == nil {
		return err
	}
	return advice.With(fmt.Errorf("stopped: %w", mergeErr), "run it again: it continues with the remaining rows")
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
