package operate

import (
	"context"
	"time"

	"herald/internal/advice"
	"herald/internal/event"
	"herald/internal/notification"
)

// cancelEventWait is the total time that an order waits for cancelled events to end.
const cancelEventWait = 30 * time.Second

// CancelEvent cancels events, and all their deliveries that were not sent yet. An event that was
// not started yet is withdrawn: it starts only if an operator retries it.
func CancelEvent() Verb {
	return Verb{Name: "cancel", Noun: Events, plan: (*Operator).planCancelEvent}
}

// planCancelEvent reads the row before it asks Temporal: if the row says that the event was
// started, Temporal then knows the workflow. If the row says SUCCESS, it waits until the workflow
// has ended: a cancellation at this moment would make the success CANCELLED.
func (o *Operator) planCancelEvent(ctx context.Context, id string) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	status, err := o.settledStatus(ctx, id, state.Processed == notification.ProcessedSuccess)
	switch {
	case err != nil:
		return plan{}, err
	case status == running:
		expected := Outcome{ID: id, Done: true, Result: "would be cancelled", Detail: "its workflow runs" + staysCancelled(state)}
		return plan{expected, func(ctx context.Context) (Outcome, error) { return o.cancelEvent(ctx, id) }}, nil
	case state.Outbox == notification.OutboxPending:
		expected := Outcome{ID: id, Done: true, Result: "would be withdrawn", Detail: "it was not started yet" + staysCancelled(state)}
		return plan{expected, func(ctx context.Context) (Outcome, error) { return o.withdrawEvent(ctx, id) }}, nil
	default:
		ended, err := o.endedEvent(ctx, id, state)
		return refusal(ended), err
	}
}

// staysCancelled returns a hint: if an event cancelled another event, cancelling it does not
// restore the other event.
func staysCancelled(state event.EventState) string {
	if state.Cancels == "" {
		return ""
	}
	return "; event " + state.Cancels + ", which it cancels, stays cancelled"
}

// withdrawEvent keeps an event from being started. If a poller has claimed the event, the poller
// either starts it or gives it back, so withdrawEvent plans again.
func (o *Operator) withdrawEvent(ctx context.Context, id string) (Outcome, error) {
	withdrawn, err := event.On(o.DB).WithdrawEvent(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if withdrawn {
		return Outcome{ID: id, Done: true, Result: "withdrawn", Detail: "it was not started; `starter event retry " + advice.Quote(id) + "` brings it back"}, nil
	}
	if err := sleep(ctx); err != nil {
		return Outcome{}, err
	}
	next, err := o.planCancelEvent(ctx, id)
	if err != nil || next.do == nil {
		return next.expected, err
	}
	return next.do(ctx)
}

// cancelEvent asks the event's workflow to end, waits for the end, and counts the deliveries by
// status.
func (o *Operator) cancelEvent(ctx context.Context, id string) (Outcome, error) {
	if err := o.Launcher.Cancel(ctx, id, o.Order.cause()); err != nil {
		return Outcome{}, err
	}
	ended, endErr := o.awaitEnd(ctx, cancelEventWait, o.temporal().GetWorkflow(ctx, id, ""))
	counts, err := event.On(o.DB).EventCounts(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{ID: id, Done: true, Result: cancelled, Detail: deliveriesText(counts)}
	switch {
	case !ended:
		outcome.Result = "cancellation accepted"
		outcome.Detail += "; " + showEvent(id)
	case endErr == nil: // it completed before the cancellation came
		outcome.Done, outcome.Result, outcome.Next = false, "has ended", showEvent(id)
	}
	return outcome, nil
}

// endedEvent returns the outcome of an event that can no longer be cancelled.
func (o *Operator) endedEvent(ctx context.Context, id string, state event.EventState) (Outcome, error) {
	counts, err := event.On(o.DB).EventCounts(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{ID: id, Detail: deliveriesText(counts), Next: showEvent(id)}
	switch {
	case state.Processed == notification.ProcessedSuccess:
		outcome.Result = "has ended"
	case state.Processed == notification.ProcessedFailed:
		outcome.Result = "was cancelled, or has failed"
	case state.Outbox == notification.OutboxFailed:
		outcome.Result, outcome.Detail = "was never started", state.Error
	default:
		outcome.Result, outcome.Next = "has no running workflow", "`starter event retry "+advice.Quote(id)+"` starts it again"
	}
	return outcome, nil
}
