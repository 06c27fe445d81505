package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"herald/internal/notification"
	"herald/internal/operate"
)

func (a *app) cancelDeliveryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel deliveries that are not sent yet",
		Long: `Cancel deliveries by id or by filter, while they wait, retry, or belong to a digest. Sent
deliveries stay sent, and the answer counts them. Filters without --status mean PENDING.
More than 100 at once need --yes; --dry-run looks first.`,
		Example: `  starter delivery cancel evt-1-staff10-EMAIL
  starter delivery cancel --event-type PROMOTION --channel SMS --dry-run
  starter delivery cancel --event-type PROMOTION --channel SMS --yes`,
	}
	change := a.newDeliveryChange(cmd)
	cmd.RunE = a.within(0, func(ctx context.Context, ids []string) error {
		verb := operate.CancelDelivery()
		if err := change.check(verb, "--event or --event-type", ids, notification.Pending); err != nil {
			return err
		}
		if slices.ContainsFunc(change.filter.Statuses, func(s notification.Status) bool { return s != notification.Pending }) {
			return misused(errors.New("--status: only PENDING can be cancelled"))
		}
		return change.run(ctx, verb, ids)
	})
	return cmd
}
