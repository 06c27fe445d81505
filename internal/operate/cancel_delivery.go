package operate

import (
	"context"
	"time"

	"herald/internal/advice"
	"herald/internal/attempt"
	"herald/internal/escalation"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/workflows"
)

// cancelWait is the total time that an order waits for cancelled deliveries to end.
const cancelWait = 15 * time.Second

// CancelDelivery cancels deliveries that were not sent yet: it asks the workflow to end. A delivery
// has no running workflow if it was not started yet, was terminated, or is sent by a batch. Then
// only the row is cancelled: a batch reads the row before it sends. If a delivery was sent, the
// verb ends its escalation, which waits for the recipient to react.
func CancelDelivery() Verb {
	return Verb{Name: "cancel", Noun: Deliveries, plan: (*Operator).planCancelDelivery}
}

const inTheTable = "only in the table, because it had no running workflow"

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
	ended := state.Status == notification.Cancelled // its workflow may be about to end
	if ended || status != running && state.Status != notification.Pending {
		return refusal(unchanged(id, state)), nil
	}
	expected := Outcome{ID: id, Done: true, Result: "would be cancelled"}
	if status != running {
		expected.Detail = inTheTable
	}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.cancelDelivery(ctx, id, status == running) }}, nil
}

// cancelDelivery asks the delivery's workflow to end. If no workflow runs, or no worker handles the
// request in time, it cancels the row: a rollback may terminate the workflow before a worker does.
func (o *Operator) cancelDelivery(ctx context.Context, id string, runs bool) (Outcome, error) {
	done := Outcome{ID: id, Done: true, Result: cancelled}
	if runs {
		if err := o.Launcher.Cancel(ctx, id, o.Order.cause()); err != nil {
			return Outcome{}, err
		}
		_, _ = o.awaitEnd(ctx, cancelWait, o.temporal().GetWorkflow(ctx, id, ""))
	}
	state, err := o.delivery(ctx, id)
	if err == nil && state.Status == notification.Pending {
		if done.Detail = inTheTable; runs {
			done.Detail = "in the table, because its workflow has not ended it"
		}
		if _, err = attempt.On(o.DB).GiveUp(ctx, id, notification.Cancelled, cancelled); err == nil {
			state, err = o.delivery(ctx, id)
		}
	}
	switch {
	case err != nil:
		return Outcome{}, err
	case state.Status == notification.Cancelled:
		if state.UnderWay {
			done.Detail += "; an attempt is under way: if the provider accepts the message, it is sent"
		}
		return done, nil
	case runs && state.Status == notification.Pending: // an attempt at its digest
		return Outcome{ID: id, Done: true, Result: "cancellation accepted", Detail: "an attempt is under way; " + howItEnds(id)}, nil
	default:
		return unchanged(id, state), nil
	}
}

// planEndEscalation plans to end the escalation of a sent delivery. Without an escalation, or if
// the next delivery exists already, the plan changes nothing.
func (o *Operator) planEndEscalation(ctx context.Context, id string, state attempt.DeliveryState) (plan, error) {
	refused := unchanged(id, state)
	found, err := report.Reader{Pool: o.DB.Pool}.Escalation(ctx, id)
	if err != nil || !found.Escalates {
		return refusal(refused), err
	}
	if found.FollowedBy != "" {
		refused.Next = "`starter delivery cancel " + advice.Quote(found.FollowedBy) + "` cancels the delivery that follows it"
		return refusal(refused), nil
	}
	status, err := o.workflowStatus(ctx, workflows.EscalationID(id))
	if err != nil || status != running {
		return refusal(refused), err
	}
	expected := Outcome{ID: id, Done: true, Result: "its escalation would end", Detail: "the sent message cannot be recalled"}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.endEscalation(ctx, id, state) }}, nil
}

func (o *Operator) endEscalation(ctx context.Context, id string, state attempt.DeliveryState) (Outcome, error) {
	ended, err := escalation.On(o.DB).EndEscalation(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !ended { // the next delivery was written after the plan
		next, err := o.planEndEscalation(ctx, id, state)
		return next.expected, err
	}
	_, _ = o.awaitEnd(ctx, cancelWait, o.temporal().GetWorkflow(ctx, workflows.EscalationID(id), ""))
	return Outcome{ID: id, Done: true, Result: "its escalation has ended", Detail: "nothing follows; the sent message cannot be recalled"}, nil
}
