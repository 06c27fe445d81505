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
		Short: "Cancel deliveries that were not sent yet",
		Long: `Cancel deliveries, named by their ids or by filters, while they wait, are retried or are
part of a digest. What was sent stays sent, and the answer says so. Filters without
--status mean PENDING. More than 100 at once need --yes; --dry-run looks first.`,
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
