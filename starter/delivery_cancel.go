package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/notification"
)

// cancelWait is how long cancelled deliveries are waited for, in all.
const cancelWait = 15 * time.Second

func (a *app) cancelDeliveryCommand() *cobra.Command {
	var filter deliveryFilter
	var flags bulkFlags
	cmd := &cobra.Command{
		Use:   "cancel [ID...]",
		Short: "Cancel deliveries that were not sent yet",
		Long: `Cancel deliveries, named by their ids or by filters, while they wait, are retried or are
part of a digest. What was sent stays sent, and the answer says so. Filters without
--status mean PENDING. More than 100 at once need --yes; --dry-run looks first.`,
		Example: `  starter delivery cancel evt-1-staff10-EMAIL
  starter delivery cancel --event-type PROMOTION --channel SMS --dry-run
  starter delivery cancel --event-type PROMOTION --channel SMS --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: a.within(0, func(ctx context.Context, ids []string) error {
			return a.cancelDeliveries(ctx, ids, filter, flags)
		}),
		ValidArgsFunction: a.completeDeliveries(),
	}
	filter.register(cmd)
	a.completeEventFlag(cmd)
	flags.register(cmd)
	flags.registerAfter(cmd)
	return cmd
}

func (a *app) cancelDeliveries(ctx context.Context, ids []string, filter deliveryFilter, flags bulkFlags) error {
	wanted, filtered, err := filter.parse()
	if err != nil {
		return err
	}
	if err := flags.choose("cancel", "--event or --event-type", ids, filtered); err != nil {
		return err
	}
	if _, err := deliveryNumber(flags.after); err != nil {
		return err
	}
	if len(wanted.Statuses) == 0 {
		wanted.Statuses = []notification.Status{notification.Pending}
	}
	if slices.ContainsFunc(wanted.Statuses, func(s notification.Status) bool { return s != notification.Pending }) {
		return misused(errors.New("--status: only PENDING can be cancelled"))
	}
	return a.operate(ctx, cancelWait, func(ctx context.Context, o *operator) error {
		j := job{verb: "cancel", noun: theDeliveries, flags: flags, plan: o.planCancelDelivery, record: o.record}
		return o.deliveries(ctx, j, ids, wanted)
	})
}

// planCancelDelivery asks the delivery's workflow to end, or its row alone where
// none runs: its turn has not come yet, or it was terminated.
func (o *operator) planCancelDelivery(ctx context.Context, id string) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if wasSent(state) {
		return refuse(sentAlready(id, state)), nil
	}
	running, err := o.running(ctx, id)
	would := outcome{ID: id, Done: true, Result: "would be cancelled"}
	switch {
	case err != nil:
		return plan{}, err
	case running:
		return plan{would, func(ctx context.Context) (outcome, error) { return o.cancelDelivery(ctx, id) }}, nil
	case state.Status == notification.Pending:
		would.Detail = inTheTable
		return plan{would, func(ctx context.Context) (outcome, error) { return o.cancelRow(ctx, id) }}, nil
	default:
		return refuse(asItIs(id, state)), nil
	}
}

const inTheTable = "in the table alone, since no workflow was running"

// cancelDelivery asks the delivery's workflow to end, and looks what came of it.
func (o *operator) cancelDelivery(ctx context.Context, id string) (outcome, error) {
	if err := o.temporal.CancelWorkflow(ctx, id, ""); err != nil && !isNotFound(err) {
		return outcome{}, fmt.Errorf("cancel %s: %w", id, err)
	}
	_, _ = o.patience.wait(ctx, o.temporal.GetWorkflow(ctx, id, "")) // its row says how it ended
	state, err := o.delivery(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	switch state.Status {
	case notification.Cancelled:
		return outcome{ID: id, Done: true, Result: cancelled}, nil
	case notification.Pending:
		return outcome{
			ID: id, Done: true, Result: "cancellation accepted",
			Detail: "an attempt is under way, or no worker runs; `starter delivery show " + advice.Quote(id) + "` tells how it ends",
		}, nil
	default:
		return asItIs(id, state), nil
	}
}

// cancelRow cancels a delivery without a running workflow.
func (o *operator) cancelRow(ctx context.Context, id string) (outcome, error) {
	if _, err := o.db.GiveUp(ctx, id, notification.Cancelled, cancelled); err != nil {
		return outcome{}, err
	}
	state, err := o.delivery(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	if state.Status == notification.Cancelled {
		return outcome{ID: id, Done: true, Result: cancelled, Detail: inTheTable}, nil
	}
	return asItIs(id, state), nil
}
