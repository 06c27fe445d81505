package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/terminal"
)

func (a *app) eraseCommand() *cobra.Command {
	var who notification.RecipientKey
	var flags confirmation
	cmd := &cobra.Command{
		Use:   "erase TYPE/ID",
		Short: "Erase a person: Herald never tells them anything again",
		Long: `Erase a person. From the first moment on, nothing is planned or sent for them: no event,
digest, escalation, retry or replay. Nothing ends that. Then it cancels what waits for
them, deletes their directory rows, devices and settings, and empties the texts and
addresses of their deliveries, and the payloads of events that told nobody else.

It names events that told other people too: their payloads stay. It also names views of
the directory, where only your application can delete. docs/privacy.md lists what stays
in other places, and until when.

You can interrupt it at any time. Run it again, and it continues. It erases only with --yes.`,
		Example: `  starter recipient erase CUSTOMER/42 --dry-run
  starter recipient erase CUSTOMER/42 --reason 'request 17' --yes`,
		Args:              recipientArgs(&who),
		ValidArgsFunction: a.completeUserTypes(),
		RunE: a.ordering(0, func(ctx context.Context, o *operate.Operator, _ []string) error {
			plan, err := o.PlanErase(ctx, who)
			if err != nil {
				return err
			}
			plan.DryRun = flags.dryRun
			return confirmed(a, flags, rowChange[operate.Erasure]{
				verb: "erase", done: "erased", plan: plan, rows: terminal.Grouped(plan.Rows()), print: printErasure,
				do: func(set func(string)) (operate.Erasure, error) {
					return o.Erase(ctx, plan, func(e operate.Erasure) {
						set(fmt.Sprintf("%s rows, %s events erased …", terminal.Grouped(e.Rows()), terminal.Grouped(e.Events)))
					})
				},
			})
		}),
	}
	flags.register(cmd, "erase")
	return cmd
}

func printErasure(w io.Writer, e operate.Erasure) {
	terminal.Row(w, "TABLE", "ROWS", "NOTE")
	for _, t := range e.Tables {
		note := "-"
		if t.View && t.Rows > 0 {
			note = "your view: delete the rows in your application"
		}
		terminal.Row(w, t.Table, terminal.Grouped(t.Rows), note)
	}
	if e.DryRun {
		return
	}
	terminal.Row(w, "event_outbox", terminal.Grouped(e.Events), "payloads")
	terminal.Row(w)
	more := ""
	if e.More {
		more = " and more"
	}
	if e.UnderWay > 0 {
		terminal.Row(w, fmt.Sprintf("not erased: %d deliveries have an attempt under way", e.UnderWay))
	}
	if len(e.Open) > 0 {
		terminal.Row(w, "open events keep their payload; run it again after they end: "+strings.Join(e.Open, ", ")+more)
	}
	if len(e.Shared) > 0 {
		terminal.Row(w, "events that told others too keep their payload: "+strings.Join(e.Shared, ", ")+more)
	}
}
