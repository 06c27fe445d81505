package operate

import (
	"context"
	"time"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// cancelEventWait is the time that an order waits for the ends of cancelled events, in all.
const cancelEventWait = 30 * time.Second

// CancelEvent cancels events with all their deliveries that were not sent yet. It
// withdraws an event that was not started yet, which is then started only if it is
// retried.
func CancelEvent() Verb {
	return Verb{Name: "cancel", Noun: Events, plan: (*Operator).planCancelEvent}
}

// planCancelEvent reads the row before it asks Temporal, which then knows the
// workflow of an event that the row calls started. A cancellation that comes between
// the row's end and the workflow's would make a success CANCELLED.
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

// staysCancelled says that cancelling an event does not restore what it took back.
func staysCancelled(state postgres.EventState) string {
	if state.Cancels == "" {
		return ""
	}
	return "; event " + state.Cancels + ", which it cancels, stays cancelled"
}

// withdrawEvent keeps an event from being started. If a poller has claimed it, the
// poller either starts it or gives it back, and the event is planned again.
func (o *Operator) withdrawEvent(ctx context.Context, id string) (Outcome, error) {
	withdrawn, err := o.Store.WithdrawEvent(ctx, id)
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

// cancelEvent asks the event's workflow to end, waits for that, and counts what
// became of its deliveries.
func (o *Operator) cancelEvent(ctx context.Context, id string) (Outcome, error) {
	if err := o.cancelWorkflow(ctx, id); err != nil {
		return Outcome{}, err
	}
	ended, endErr := o.awaitEnd(ctx, cancelEventWait, o.temporal().GetWorkflow(ctx, id, ""))
	counts, err := o.Store.EventCounts(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{ID: id, Done: true, Result: cancelled, Detail: deliveriesText(counts)}
	switch {
	case !ended:
		outcome.Result = "cancellation accepted"
		outcome.Detail += "; " + showEvent(id)
	case endErr == nil: // it completed before it was asked
		outcome.Done, outcome.Result, outcome.Next = false, "has ended", showEvent(id)
	}
	return outcome, nil
}

// endedEvent is the outcome of an event that cannot be cancelled any more.
func (o *Operator) endedEvent(ctx context.Context, id string, state postgres.EventState) (Outcome, error) {
	counts, err := o.Store.EventCounts(ctx, id)
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
