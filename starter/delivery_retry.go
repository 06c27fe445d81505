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

// retryWait is how long the command waits for the ends of what was named by ids.
const retryWait = 30 * time.Second

func (a *app) retryDeliveryCommand() *cobra.Command {
	var again, noWait bool
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Retry deliveries that failed or were cancelled",
		Long: `Retry deliveries, named by their ids or by filters. Each gets a fresh run of its
workflow, with the recipient's present address and a newly written text, and is sent
alone and at once, or waits again for its own time (send_at_path) if that still lies
ahead. Filters without --status mean FAILED. One that was sent is refused, unless with
--again: the recipient then gets it twice, and that is recorded. By filters, --again
takes --status SENT and --yes beside it. More than 100 at once need --yes.

If ids are named, it waits for the outcomes, up to 30 seconds in all.`,
		Example: `  starter delivery retry evt-1-staff10-EMAIL
  starter delivery retry evt-1-staff10-EMAIL --again
  starter delivery retry --channel SMS --since 2h --dry-run
  starter delivery retry --channel SMS --since 2h --yes`,
	}
	change := a.newDeliveryChange(cmd)
	cmd.Flags().BoolVar(&again, "again", false, "also what was sent, so that the recipient gets it twice, or what another event cancelled")
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

// checkAgain keeps filters from sending to many twice unless that is spelled out.
func checkAgain(change *deliveryChange, again bool) error {
	sent := slices.ContainsFunc(change.filter.Statuses, func(s notification.Status) bool {
		return s == notification.Sent || s == notification.Delivered
	})
	switch {
	case sent && !again:
		return errors.New("--status: what was sent is retried with --again only; each recipient gets it twice")
	case again && !sent:
		return errors.New("--again with filters takes --status SENT or DELIVERED")
	case again && !change.flags.yes && !change.flags.dryRun:
		return errors.New("--again with filters takes --yes, however few they are; each recipient gets it twice")
	default:
		return nil
	}
}
