package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/operate"
)

func (a *app) addSuppressionCommand() *cobra.Command {
	var order operate.Suppressing
	cmd := &cobra.Command{
		Use:   "add",
		Short: "Have nothing sent to an address any more",
		Long: `Have nothing sent to an address any more, over one channel, whether it is mandatory or
not. What waits is CANCELLED when it is due; what was planned within the last minute may
still go out. The address is not kept: Herald knows it by its hash. The reason is one of
` + suppressionHelp,
		Example: `  starter suppression add --channel SMS --address +41791234567 --reason OPT_OUT --detail "asked us on the phone"
  starter suppression add --channel EMAIL --address ada@example.com --reason BOUNCE`,
		RunE: a.within(commandTimeout, func(ctx context.Context, _ []string) error {
			if err := order.Check(); err != nil {
				return misused(err)
			}
			return a.onDatabase(ctx, func(ctx context.Context, o *operate.Operator) error { return a.addSuppression(ctx, o, order) })
		}),
	}
	addressFlags(cmd, &order.Address)
	console.WordFlag(cmd, &order.Reason, "reason", notification.SuppressionReasons(), "why")
	console.TextFlag(cmd.Flags(), &order.Detail, "detail", "what else there is to say, without the address")
	_ = cmd.MarkFlagRequired("reason") // it fails only for a flag that there is not
	return cmd
}

func (a *app) addSuppression(ctx context.Context, o *operate.Operator, order operate.Suppressing) error {
	row, before, err := o.Suppress(ctx, order)
	if err != nil {
		return err
	}
	return a.Print(map[string]any{"suppression": row, "before": before}, func(w io.Writer) {
		said := "suppressed: nothing is sent to it any more"
		if before {
			said = "nothing was changed: it was suppressed before, for this reason"
		}
		console.Row(w, said)
		console.List(w, suppressionHeader, [][]string{suppressionCells(row)})
	})
}
