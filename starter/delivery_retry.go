package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
)

// retryWait is how long the outcome is waited for where ids are named.
const retryWait = 30 * time.Second

// retryFlags are those of `starter delivery retry` beside the filters.
type retryFlags struct {
	bulkFlags
	again, noWait bool
}

func (a *app) retryDeliveryCommand() *cobra.Command {
	var filter deliveryFilter
	var flags retryFlags
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Make deliveries once more that failed or were cancelled",
		Long: `Make deliveries once more, named by their ids or by filters: each as a fresh run of its
workflow, with the recipient's present address and a newly written text, alone and at
once. Filters without --status mean FAILED. One that was sent is refused, unless with
--again: the recipient then gets it twice, and that is recorded. By filters, --again
takes --status SENT and --yes beside it. More than 100 at once need --yes.

Where ids are named, the outcomes are waited for, up to 30 seconds in all.`,
		Example: `  starter delivery retry evt-1-staff10-EMAIL
  starter delivery retry evt-1-staff10-EMAIL --again
  starter delivery retry --channel SMS --since 2h --dry-run
  starter delivery retry --channel SMS --since 2h --yes`,
		Args: cobra.ArbitraryArgs,
		RunE: a.within(0, func(ctx context.Context, ids []string) error {
			return a.retryDeliveries(ctx, ids, filter, flags)
		}),
		ValidArgsFunction: a.completeDeliveries(),
	}
	filter.register(cmd)
	a.completeEventFlag(cmd)
	flags.register(cmd)
	flags.registerAfter(cmd)
	cmd.Flags().BoolVar(&flags.again, "again", false, "also what was sent: the recipient gets it twice")
	cmd.Flags().BoolVar(&flags.noWait, "no-wait", false, "do not wait for the outcomes")
	return cmd
}

func (a *app) retryDeliveries(ctx context.Context, ids []string, filter deliveryFilter, flags retryFlags) error {
	wanted, filtered, err := filter.parse()
	if err != nil {
		return err
	}
	if err := flags.choose("retry", "--event or --channel", ids, filtered); err != nil {
		return err
	}
	if _, err := deliveryNumber(flags.after); err != nil {
		return err
	}
	if len(wanted.Statuses) == 0 {
		wanted.Statuses = []notification.Status{notification.Failed}
	}
	wait := retryWait
	if len(ids) == 0 {
		if err := checkAgain(wanted, flags); err != nil {
			return misused(err)
		}
		wait = 0
	}
	if flags.noWait {
		wait = 0
	}
	return a.operate(ctx, wait, func(ctx context.Context, o *operator) error {
		retry := func(ctx context.Context, id string) (plan, error) { return o.planRetryDelivery(ctx, id, flags.again) }
		j := job{verb: "retry", noun: theDeliveries, flags: flags.bulkFlags, again: flags.again, plan: retry, record: o.record}
		return o.deliveries(ctx, j, ids, wanted)
	})
}

// checkAgain lets nobody send to many twice who has not spelled it out.
func checkAgain(wanted report.DeliveryFilter, flags retryFlags) error {
	sent := slices.ContainsFunc(wanted.Statuses, func(s notification.Status) bool {
		return s == notification.Sent || s == notification.Delivered
	})
	switch {
	case sent && !flags.again:
		return errors.New("--status: what was sent is retried with --again only; each recipient gets it twice")
	case flags.again && !sent:
		return errors.New("--again with filters takes --status SENT or DELIVERED")
	case flags.again && !flags.yes && !flags.dryRun:
		return errors.New("--again with filters takes --yes, however few they are; each recipient gets it twice")
	default:
		return nil
	}
}

// planRetryDelivery starts a fresh run, unless one is under way.
func (o *operator) planRetryDelivery(ctx context.Context, id string, again bool) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if wasSent(state) && !again {
		return refuse(refuseAgain(id, state)), nil
	}
	status, err := o.lastStatus(ctx, id, state.Status != notification.Pending)
	if err != nil {
		return plan{}, err
	}
	if status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return refuse(underWay(id, state)), nil
	}
	would := outcome{ID: id, Done: true, Result: "would be retried", Detail: "it is " + string(state.Status)}
	return plan{would, func(ctx context.Context) (outcome, error) { return o.retryDelivery(ctx, id, state, again) }}, nil
}

func (o *operator) retryDelivery(ctx context.Context, id string, state postgres.DeliveryState, again bool) (outcome, error) {
	run, err := o.starter().RetryDelivery(ctx, launch.RetryInput{
		DeliveryID: id, Channel: state.Channel, EventID: state.EventID, EventType: state.EventType, Aggregate: state.Aggregate,
		UserType: state.UserType, UserID: state.UserID, Priority: state.Priority, Again: again,
	})
	if errors.Is(err, launch.ErrRunning) { // somebody else was faster
		return underWay(id, state), nil
	}
	if err != nil {
		return outcome{}, fmt.Errorf("retry %s: %w", id, err)
	}
	started := outcome{ID: id, Done: true, Result: "started", Detail: "`starter delivery show " + advice.Quote(id) + "` tells how it ends"}
	if through, _ := o.patience.wait(ctx, run); !through { // its row says how it ended
		return started, nil
	}
	state, err = o.delivery(ctx, id)
	switch {
	case err != nil:
		return outcome{}, err
	case wasSent(state):
		return outcome{ID: id, Done: true, Result: "sent", Detail: console.Clock(state.SentAt)}, nil
	case state.Status == notification.Pending: // Temporal went out of reach while we waited
		return started, nil
	default:
		return asItIs(id, state), nil
	}
}

func refuseAgain(id string, state postgres.DeliveryState) outcome {
	refused := sentAlready(id, state)
	refused.next = "add --again to send it once more; the recipient gets it twice"
	return refused
}

func underWay(id string, state postgres.DeliveryState) outcome {
	return outcome{
		ID: id, Result: "is under way", Detail: fmt.Sprintf("its workflow runs; it is %s after %d attempts", state.Status, state.Attempts),
		next: "`starter delivery why " + advice.Quote(id) + "` says what it waits for; `starter delivery send-now " + advice.Quote(id) + "` hastens it",
	}
}
