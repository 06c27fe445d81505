package operate

import (
	"context"
	"time"

	"herald/internal/notification"
)

// cancelWait is how long an order waits for the ends of cancelled deliveries, in all.
const cancelWait = 15 * time.Second

// CancelDelivery cancels deliveries that were not sent yet: it asks the workflow to
// end. If none runs, since it was not started yet or was terminated, it cancels the
// row alone.
func CancelDelivery() Verb {
	return Verb{Name: "cancel", Noun: Deliveries, plan: (*Operator).planCancelDelivery}
}

const inTheTable = "in the table alone, since no workflow was running"

func (o *Operator) planCancelDelivery(ctx context.Context, id string) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if isSent(state) {
		return refusal(unchanged(id, state)), nil
	}
	status, err := o.workflowStatus(ctx, id)
	if err != nil {
		return plan{}, err
	}
	expected := Outcome{ID: id, Done: true, Result: "would be cancelled"}
	switch {
	case status == running:
		return plan{expected, func(ctx context.Context) (Outcome, error) { return o.cancelDelivery(ctx, id) }}, nil
	case state.Status == notification.Pending:
		expected.Detail = inTheTable
		return plan{expected, func(ctx context.Context) (Outcome, error) { return o.cancelDeliveryRow(ctx, id) }}, nil
	default:
		return refusal(unchanged(id, state)), nil
	}
}

// cancelDelivery asks the delivery's workflow to end, and reads from the row what
// came of that.
func (o *Operator) cancelDelivery(ctx context.Context, id string) (Outcome, error) {
	if err := o.cancelWorkflow(ctx, id); err != nil {
		return Outcome{}, err
	}
	_, _ = o.awaitEnd(ctx, cancelWait, o.temporal().GetWorkflow(ctx, id, ""))
	state, err := o.delivery(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	switch state.Status {
	case notification.Cancelled:
		return Outcome{ID: id, Done: true, Result: cancelled}, nil
	case notification.Pending:
		return Outcome{ID: id, Done: true, Result: "cancellation accepted", Detail: "an attempt is under way, or no worker runs; " + howItEnds(id)}, nil
	default:
		return unchanged(id, state), nil
	}
}

func (o *Operator) cancelDeliveryRow(ctx context.Context, id string) (Outcome, error) {
	if _, err := o.Store.GiveUp(ctx, id, notification.Cancelled, cancelled); err != nil {
		return Outcome{}, err
	}
	state, err := o.delivery(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if state.Status == notification.Cancelled {
		return Outcome{ID: id, Done: true, Result: cancelled, Detail: inTheTable}, nil
	}
	return unchanged(id, state), nil
}
