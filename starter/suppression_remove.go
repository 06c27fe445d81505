package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/postgres/report"
)

func (a *app) removeSuppressionCommand() *cobra.Command {
	var address operate.Address
	var reason notification.SuppressionReason
	var yes bool
	cmd := &cobra.Command{
		Use:   "remove",
		Short: "Let an address be written to again",
		Long: `Let an address be written to again. Without --reason, all that is against it goes. It
says what would go, and wants --yes: where the reason is COMPLAINT or OPT_OUT, somebody
said no, so ask them first.

SendGrid and Twilio have lists of their own. What stands there is refused all the same,
and suppressed again: take the address off their list, too. Deliveries that were
SUPPRESSED or CANCELLED meanwhile are not sent; ` + "`starter delivery retry`" + ` sends those
that were planned.`,
		Example: `  starter suppression remove --channel EMAIL --address ada@example.com
  starter suppression remove --channel EMAIL --address ada@example.com --reason BOUNCE --yes`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := address.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error {
				return a.removeSuppression(ctx, o, address, reason, yes)
			})
		}),
	}
	addressFlags(cmd, &address)
	console.WordFlag(cmd, &reason, "reason", notification.SuppressionReasons(), "only what is there for this reason")
	cmd.Flags().BoolVar(&yes, "yes", false, "remove what it says would go")
	return cmd
}

func (a *app) removeSuppression(ctx context.Context, o *operate.Operator, address operate.Address, reason notification.SuppressionReason, yes bool) error {
	rows, err := o.PlanUnsuppress(ctx, address, reason)
	if err != nil {
		return err
	}
	if !yes {
		return misused(fmt.Errorf("%s would go, and nothing was changed: to let the address be written to again add --yes", reasonsOf(rows)))
	}
	if err := o.Unsuppress(ctx, address, rows); err != nil {
		return err
	}
	return a.Print(map[string]any{"removed": rows}, func(w io.Writer) {
		console.Row(w, "removed: the address may be written to again, unless another reason is against it")
		var cells [][]string
		for _, row := range rows {
			cells = append(cells, suppressionCells(row))
		}
		console.List(w, suppressionHeader, cells)
	})
}

// reasonsOf is BOUNCE since 2026-11-21 10:00:00.000Z, OPT_OUT since ….
func reasonsOf(rows []report.Suppression) string {
	var said []string
	for _, row := range rows {
		said = append(said, fmt.Sprintf("%s since %s", row.Reason, console.Clock(&row.Since)))
	}
	return strings.Join(said, ", ")
}
