package operate

import (
	"context"
	"time"

	"herald/internal/event"
	"herald/internal/notification"
)

// cancelEventWait is the total time that an order waits for cancelled events to end.
const cancelEventWait = 30 * time.Second

// CancelEvent cancels events, and all their deliveries that were not sent yet. An event that was
// not started yet is withdrawn: it starts only if an operator retries it.
func CancelEvent() Verb { return eventVerb("cancel", eventChange.planCancel) }

// planCancel asks Temporal after it has read the row: if the row says that the event was started,
// Temporal then knows the workflow. If the row says SUCCESS, it waits until the workflow has ended: a
// cancellation at this moment would make the success CANCELLED.
func (c eventChange) planCancel(ctx context.Context) (plan, error) {
	status, err := c.settledStatus(ctx, c.id, c.state.Processed == notification.ProcessedSuccess)
	switch {
	case err != nil:
		return plan{}, err
	case status == running:
		return plan{c.is(EventWouldBeCancelled), c.cancel}, nil
	case c.state.Outbox == notification.OutboxPending:
		return plan{c.is(EventWouldBeWithdrawn), c.withdraw}, nil
	default:
		ended, err := c.ended(ctx)
		return refusal(ended), err
	}
}

// withdraw keeps an event from being started. If a poller has claimed the event, the poller
// either starts it or gives it back, so withdraw plans again.
func (c eventChange) withdraw(ctx context.Context) (Outcome, error) {
	withdrawn, err := event.On(c.DB).WithdrawEvent(ctx, c.id)
	if err != nil {
		return Outcome{}, err
	}
	if withdrawn {
		return c.is(EventWithdrawn), nil
	}
	if err := sleep(ctx); err != nil {
		return Outcome{}, err
	}
	next, err := CancelEvent().plan(c.Operator, ctx, c.id)
	if err != nil || next.do == nil {
		return next.expected, err
	}
	return next.do(ctx)
}

// cancel asks the event's workflow to end, waits for the end, and counts the deliveries by status.
func (c eventChange) cancel(ctx context.Context) (Outcome, error) {
	if err := c.Launcher.Cancel(ctx, c.id, c.Order.cause()); err != nil {
		return Outcome{}, err
	}
	switch ended, err := c.awaitEnd(ctx, cancelEventWait, c.temporal().GetWorkflow(ctx, c.id, "")); {
	case !ended:
		return c.counted(ctx, EventCancellationAccepted)
	case err == nil: // it completed before the cancellation came
		return c.counted(ctx, EventEnded)
	default:
		return c.counted(ctx, EventCancelled)
	}
}

// ended returns the outcome of an event that can no longer be cancelled.
func (c eventChange) ended(ctx context.Context) (Outcome, error) {
	switch {
	case c.state.Processed == notification.ProcessedSuccess:
		return c.counted(ctx, EventEnded)
	case c.state.Processed == notification.ProcessedFailed:
		return c.counted(ctx, EventEndedEarly)
	case c.state.Outbox == notification.OutboxFailed:
		return c.is(EventNeverStarted), nil
	default:
		return c.counted(ctx, EventNotRunning)
	}
}
