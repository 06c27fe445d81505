package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	enums "go.temporal.io/api/enums/v1"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// failedFlags are those of `starter event retry`.
type failedFlags struct {
	bulkFlags
	all       bool
	eventType string
	since     console.PastTime
}

func (a *app) retryEventCommand() *cobra.Command {
	var flags failedFlags
	cmd := &cobra.Command{
		Use:   "retry [ID...]",
		Short: "Put events back into the outbox that failed or were cancelled",
		Long: `Put events back into the outbox, so that a poller starts them once more: those that could
not be started, whose workflow failed or was terminated, or that were cancelled.
Deliveries that were sent stay sent, and those that were cancelled stay cancelled.
Those that failed are tried again, but for ` + console.Join(bestEffortChannels()) + `, which get one
attempt: ` + "`starter delivery retry`" + ` makes them once more. --all-failed leaves out
events that an operator cancelled: name them. More than 100 at once need --yes.`,
		Example: `  starter event retry evt-1
  starter event retry --all-failed --type RESERVATION_REQUESTED --since 24h --dry-run
  starter event retry --all-failed --yes`,
		Args:              cobra.ArbitraryArgs,
		RunE:              a.within(0, func(ctx context.Context, ids []string) error { return a.retryEvents(ctx, ids, flags) }),
		ValidArgsFunction: a.completeEvents(),
	}
	cmd.Flags().BoolVar(&flags.all, "all-failed", false, "all events that failed")
	cmd.Flags().StringVar(&flags.eventType, "type", "", "with --all-failed: only this event type")
	cmd.Flags().Var(&flags.since, "since", "with --all-failed: only those written since: an age (24h, 7d) or a time")
	flags.register(cmd)
	flags.registerAfter(cmd)
	return cmd
}

// bestEffortChannels are those whose failed delivery has ended well enough.
func bestEffortChannels() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return !c.BestEffort() })
}

func (a *app) retryEvents(ctx context.Context, ids []string, flags failedFlags) error {
	if err := flags.choose("retry", "--all-failed", ids, flags.all); err != nil {
		return err
	}
	if !flags.all && (flags.eventType != "" || !flags.since.Time.IsZero()) {
		return misused(errors.New("--type and --since go with --all-failed"))
	}
	return a.operate(ctx, 0, func(ctx context.Context, o *operator) error {
		o.warnOfPollers(ctx)
		retry := func(ctx context.Context, id string) (plan, error) { return o.planRetryEvent(ctx, id, flags.all) }
		j := job{verb: "retry", noun: theEvents, flags: flags.bulkFlags, plan: retry, record: o.record}
		if len(ids) > 0 {
			return a.named(ctx, j, ids)
		}
		return o.failedEvents(ctx, j, postgres.FailedEventFilter{EventType: flags.eventType, Since: flags.since.Time})
	})
}

func (o *operator) failedEvents(ctx context.Context, j job, filter postgres.FailedEventFilter) error {
	var err error
	if filter.Until, err = o.db.Now(ctx); err != nil {
		return err
	}
	matched, err := o.db.CountFailedEvents(ctx, filter)
	if err != nil {
		return err
	}
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		ids, err := o.db.FailedEvents(ctx, filter, after, limit)
		items := make([]item, 0, len(ids))
		for _, id := range ids {
			items = append(items, item{id, id})
		}
		return items, err
	}
	return o.app.selected(ctx, j, selection{matched: matched, page: page})
}

// warnOfPollers says that nobody will start what is put back.
func (o *operator) warnOfPollers(ctx context.Context) {
	state, err := readPollers(ctx, o.temporal, o.prefix, 0)
	if err != nil {
		return // what matters will fail by itself
	}
	o.app.warnOfWorkers(state)
	o.app.warnOfPollers(state)
}

// planRetryEvent puts an event back that failed.
func (o *operator) planRetryEvent(ctx context.Context, id string, all bool) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	status, err := o.lastStatus(ctx, id, state.Processed == "FAILED")
	if err != nil {
		return plan{}, err
	}
	if result, detail := whyNotRetry(state, status, all); result != "" {
		return refuse(outcome{ID: id, Result: result, Detail: detail, next: "look at it with `starter event show " + advice.Quote(id) + "`"}), nil
	}
	would := outcome{ID: id, Done: true, Result: "would be retried"}
	return plan{would, func(ctx context.Context) (outcome, error) { return o.retryEvent(ctx, id) }}, nil
}

func (o *operator) retryEvent(ctx context.Context, id string) (outcome, error) {
	retried, err := o.db.RetryEvent(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	if !retried {
		return outcome{ID: id, Result: "changed meanwhile", next: "look at it with `starter event show " + advice.Quote(id) + "`"}, nil
	}
	said := outcome{ID: id, Done: true, Result: "is pending again"}
	counts, err := o.db.EventCounts(ctx, id)
	if count := counts[notification.Cancelled]; count > 0 {
		said.Detail = fmt.Sprintf("%s of its deliveries stay cancelled; `starter delivery retry --event %s --status CANCELLED` makes them after all", console.Grouped(count), advice.Quote(id))
	}
	return said, err
}

// whyNotRetry is empty for an event that failed. One that still counts as
// PROCESSING without a workflow that runs had it terminated.
func whyNotRetry(state postgres.EventState, status enums.WorkflowExecutionStatus, all bool) (result, detail string) {
	switch {
	case state.Outbox == "":
		return "cannot be retried", "its row in event_outbox was purged"
	case state.Processed == "SUCCESS", status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return "has succeeded", "to make single deliveries once more there is `starter delivery retry`"
	case status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return "is under way", "its workflow runs"
	case state.Outbox == "PENDING" && state.Processed == "":
		return "is pending", "a poller will start it"
	case all && status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return "was cancelled", "name it to retry it"
	case state.Processed == "" && state.Outbox == "PROCESSED":
		return "has ended", "processed_event no longer tells how"
	default:
		return "", ""
	}
}
