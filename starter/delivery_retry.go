package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
)

// retryWait is the time to wait for the outcomes of deliveries named by ids.
const retryWait = 30 * time.Second

func (a *app) retryDeliveryCommand() *cobra.Command {
	var again, noWait bool
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Retry deliveries that failed or were cancelled",
		Long: `Retry deliveries by id or by filter. Each gets a new run of its workflow, with the present
address and a new text. It is sent at once, and never in a digest. If its own time
(send_at_path) is in the future, it waits for that time. Filters without --status mean FAILED.

A sent or expired delivery needs --again: the recipient gets it twice, or late. With
filters, --again also needs --status SENT and --yes. More than 100 at once need --yes.

With ids, the command waits for the outcomes, up to 30 seconds in all.`,
		Example: `  starter delivery retry evt-1-staff10-EMAIL
  starter delivery retry evt-1-staff10-EMAIL --again
  starter delivery retry --channel SMS --since 2h --dry-run
  starter delivery retry --channel SMS --since 2h --yes`,
	}
	change := a.newDeliveryChange(cmd)
	cmd.Flags().BoolVar(&again, "again", false, "also retry deliveries that were sent, have expired, or were cancelled by another event")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the outcomes")
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		wait := retryWait
		if noWait || len(ids) == 0 {
			wait = 0
		}
		verb := operate.RetryDelivery(again, wait)
		if err := change.check(verb, "--event or --channel", ids, notification.Failed); err != nil {
			return err
		}
		if err := checkAgain(change, again); err != nil && len(ids) == 0 {
			return misused(err)
		}
		return change.run(ctx, verb, ids)
	})
	return cmd
}

// checkAgain refuses filters that select sent deliveries, unless the flags ask for it explicitly.
func checkAgain(change *deliveryChange, again bool) error {
	sent := slices.ContainsFunc(change.filter.Statuses, func(s notification.Status) bool {
		return s == notification.Sent || s == notification.Delivered
	})
	switch {
	case sent && !again:
		return errors.New("--status: sent deliveries need --again; each recipient gets it twice")
	case again && !sent:
		return errors.New("--again with filters needs --status SENT or DELIVERED")
	case again && !change.flags.yes && !change.flags.dryRun:
		return errors.New("--again with filters needs --yes, even for one delivery; each recipient gets it twice")
	default:
		return nil
	}
}
