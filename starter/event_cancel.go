package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/advice"
	"herald/internal/console"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// eventWait is how long cancelled events are waited for, in all.
const eventWait = 30 * time.Second

func (a *app) cancelEventCommand() *cobra.Command {
	var flags bulkFlags
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel events with all their deliveries that were not sent yet",
		Long: `Cancel events with all their deliveries that were not sent yet. What was sent stays sent,
and the answer counts it. An event that was not started yet never will be, until
it is retried. More than 100 at once need --yes.`,
		Example: "  starter event cancel evt-1",
		Args:    cobra.MinimumNArgs(1),
		RunE: a.within(0, func(ctx context.Context, ids []string) error {
			return a.operate(ctx, eventWait, func(ctx context.Context, o *operator) error {
				return a.named(ctx, job{verb: "cancel", noun: theEvents, flags: flags, plan: o.planCancelEvent, record: o.record}, ids)
			})
		}),
		ValidArgsFunction: a.completeEvents(),
	}
	flags.register(cmd)
	return cmd
}

// planCancelEvent asks the event's workflow to end, or keeps it from being started.
// The row is read first: what it says was started by then, Temporal knows.
func (o *operator) planCancelEvent(ctx context.Context, id string) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	running, err := o.running(ctx, id)
	switch {
	case err != nil:
		return plan{}, err
	case running:
		would := outcome{ID: id, Done: true, Result: "would be cancelled", Detail: "its workflow runs"}
		return plan{would, func(ctx context.Context) (outcome, error) { return o.cancelEvent(ctx, id) }}, nil
	case state.Outbox == "PENDING":
		would := outcome{ID: id, Done: true, Result: "would be withdrawn", Detail: "it was not started yet"}
		return plan{would, func(ctx context.Context) (outcome, error) { return o.withdrawEvent(ctx, id) }}, nil
	default:
		said, err := o.endedEvent(ctx, id, state)
		return refuse(said), err
	}
}

// withdrawEvent keeps an event from being started. A poller may have it in its
// hands: then it is either started or given back, and planned for anew.
func (o *operator) withdrawEvent(ctx context.Context, id string) (outcome, error) {
	withdrawn, err := o.db.WithdrawEvent(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	if withdrawn {
		return outcome{ID: id, Done: true, Result: "withdrawn", Detail: "it was not started; `starter event retry " + advice.Quote(id) + "` brings it back"}, nil
	}
	if err := pause(ctx); err != nil {
		return outcome{}, err
	}
	next, err := o.planCancelEvent(ctx, id)
	if err != nil || next.do == nil {
		return next.would, err
	}
	return next.do(ctx)
}

// cancelEvent asks the event's workflow to end, waits for that, and says what
// came of its deliveries.
func (o *operator) cancelEvent(ctx context.Context, id string) (outcome, error) {
	if err := o.temporal.CancelWorkflow(ctx, id, ""); err != nil && !isNotFound(err) {
		return outcome{}, fmt.Errorf("cancel %s: %w", id, err)
	}
	through, endErr := o.patience.wait(ctx, o.temporal.GetWorkflow(ctx, id, ""))
	counts, err := o.db.EventCounts(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	said := outcome{ID: id, Done: true, Result: cancelled, Detail: countText(counts)}
	switch {
	case !through:
		said.Result = "cancellation accepted"
	case endErr == nil:
		said.Done, said.Result = false, "has ended"
	}
	return said, nil
}

// endedEvent is the outcome of an event that cannot be cancelled any more.
func (o *operator) endedEvent(ctx context.Context, id string, state postgres.EventState) (outcome, error) {
	counts, err := o.db.EventCounts(ctx, id)
	if err != nil {
		return outcome{}, err
	}
	said := outcome{ID: id, Detail: countText(counts), next: "`starter event show " + advice.Quote(id) + "` tells what came of it"}
	switch {
	case state.Processed == "SUCCESS":
		said.Result = "has ended"
	case state.Processed == "FAILED":
		said.Result = "was cancelled, or has failed"
	case state.Outbox == "FAILED":
		said.Result, said.Detail = "was never started", state.Error
	default:
		said.Result = "is worked on by nobody"
		said.next = "`starter event retry " + advice.Quote(id) + "` starts it again"
	}
	return said, nil
}

// countText is what became of an event's deliveries: 3 were cancelled, 2 had
// been sent and stay sent.
func countText(counts map[notification.Status]int) string {
	var said []string
	for _, part := range []struct {
		count int
		text  string
	}{
		{counts[notification.Cancelled], "cancelled"},
		{counts[notification.Sent] + counts[notification.Delivered], "sent, and stay sent"},
		{counts[notification.Failed], "failed"},
		{counts[notification.Pending], "still under way"},
	} {
		if part.count > 0 {
			said = append(said, console.Grouped(part.count)+" "+part.text)
		}
	}
	if len(said) == 0 {
		return "it has no deliveries"
	}
	return "of its deliveries " + strings.Join(said, "; ")
}
