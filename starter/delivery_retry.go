package main

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
)

// retryWait is the time to wait for the outcomes of deliveries named by ids.
const retryWait = 30 * time.Second

func retryDeliveryCommand(a *app) *cobra.Command {
	var again, noWait bool
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Retry deliveries that failed or were cancelled",
		Long: `Retry deliveries by id or by filter. Each gets a new run of its workflow, with the current
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
	cmd.Flags().BoolVar(&again, "again", false, "also retry deliveries that were sent, have expired, or were cancelled by another event")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "do not wait for the outcomes")
	return deliveryBulkCommand(a, cmd, "--event or --channel",
		func(filter *list.DeliveryFilter, ids []string, flags bulkFlags) (operate.Verb, error) {
			if len(filter.Statuses) == 0 {
				filter.Statuses = []notification.Status{notification.Failed}
			}
			if len(ids) > 0 && !noWait {
				return operate.RetryDelivery(again, retryWait), nil
			}
			if len(ids) == 0 {
				if err := checkAgain(*filter, flags, again); err != nil {
					return operate.Verb{}, misused(err)
				}
			}
			return operate.RetryDelivery(again, 0), nil
		})
}

// checkAgain refuses filters that select sent deliveries, unless the flags ask for it explicitly.
func checkAgain(filter list.DeliveryFilter, flags bulkFlags, again bool) error {
	sent := slices.ContainsFunc(filter.Statuses, func(s notification.Status) bool {
		return s == notification.Sent || s == notification.Delivered
	})
	switch {
	case sent && !again:
		return errors.New("--status: sent deliveries need --again; each recipient gets it twice")
	case again && !sent:
		return errors.New("--again with filters needs --status SENT or DELIVERED")
	case again && !flags.yes && !flags.dryRun:
		return errors.New("--again with filters needs --yes, even for one delivery; each recipient gets it twice")
	default:
		return nil
	}
}
