package operate

import (
	"context"
	"time"

	"herald/internal/notification"
)

// cancelWait is how long an order waits for the ends of cancelled deliveries, in all.
const cancelWait = 15 * time.Second

// CancelDelivery cancels deliveries that were not sent yet: it asks the workflow to
// end. If none runs, since it was not started yet or was terminated, or since a batch
// sends it, it cancels the row alone: a batch looks there before it sends. If a delivery
// was sent, it ends the escalation that waits for its recipient.
func CancelDelivery() Verb {
	return Verb{Name: "cancel", Noun: Deliveries, plan: (*Operator).planCancelDelivery}
}

const inTheTable = "in the table alone, since no workflow of its own was running"

func (o *Operator) planCancelDelivery(ctx context.Context, id string) (plan, error) {
	state, err := o.delivery(ctx, id)
	if err != nil {
		return plan{}, err
	}
	if isSent(state) {
		return o.planEndEscalation(ctx, id, state)
	}
	status, err := o.workflowStatus(ctx, id)
	if err != nil {
		return plan{}, err
	}
	expected := Outcome{ID: id, Done: true, Result: "would be cancelled"}
	if status != running {
		if state.Status != notification.Pending {
			return refusal(unchanged(id, state)), nil
		}
		expected.Detail = inTheTable
	}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.cancelDelivery(ctx, id, status == running) }}, nil
}

// cancelDelivery asks the delivery's workflow to end, or writes in the row where none
// runs, and reads from the row what came of that.
func (o *Operator) cancelDelivery(ctx context.Context, id string, runs bool) (Outcome, error) {
	done := Outcome{ID: id, Done: true, Result: cancelled}
	if runs {
		if err := o.cancelWorkflow(ctx, id); err != nil {
			return Outcome{}, err
		}
		_, _ = o.awaitEnd(ctx, cancelWait, o.temporal().GetWorkflow(ctx, id, ""))
	} else {
		if _, err := o.Store.GiveUp(ctx, id, notification.Cancelled, cancelled); err != nil {
			return Outcome{}, err
		}
		done.Detail = inTheTable
	}
	state, err := o.delivery(ctx, id)
	switch {
	case err != nil:
		return Outcome{}, err
	case state.Status == notification.Cancelled:
		if state.UnderWay {
			done.Detail += "; an attempt is under way: if the provider takes it, it is sent all the same"
		}
		return done, nil
	case runs && state.Status == notification.Pending:
		return Outcome{ID: id, Done: true, Result: "cancellation accepted", Detail: "an attempt is under way, or no worker runs; " + howItEnds(id)}, nil
	default:
		return unchanged(id, state), nil
	}
}
