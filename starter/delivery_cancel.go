package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
)

func cancelDeliveryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel deliveries that are not sent yet",
		Long: `Cancel deliveries by id or by filter, while they wait, retry, or belong to a digest. Sent
deliveries stay sent, and the answer counts them. Filters without --status mean PENDING.
More than 100 at once need --yes; --dry-run shows them first.`,
		Example: `  starter delivery cancel evt-1-staff10-EMAIL
  starter delivery cancel --event-type PROMOTION --channel SMS --dry-run
  starter delivery cancel --event-type PROMOTION --channel SMS --yes`,
	}
	return deliveryBulkCommand(a, cmd, "--event or --event-type",
		func(filter *list.DeliveryFilter, _ []string, _ bulkFlags) (operate.Verb, error) {
			if slices.ContainsFunc(filter.Statuses, func(s notification.Status) bool { return s != notification.Pending }) {
				return operate.Verb{}, misused(errors.New("--status: only PENDING can be cancelled"))
			}
			filter.Statuses = []notification.Status{notification.Pending}
			return operate.CancelDelivery(), nil
		})
}
