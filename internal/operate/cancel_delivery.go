package operate

import (
	"context"
	"time"

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
func CancelDelivery() Verb { return deliveryVerb("cancel", deliveryChange.planCancel) }

// cancelled is the last_error of a delivery that an operator cancelled.
const cancelled = "cancelled"

func (c deliveryChange) planCancel(ctx context.Context) (plan, error) {
	if c.isSent() {
		return c.planEndEscalation(ctx)
	}
	status, err := c.workflowStatus(ctx, c.id)
	if err != nil {
		return plan{}, err
	}
	ended := c.state.Status == notification.Cancelled // its workflow may be about to end
	if ended || status != running && c.state.Status != notification.Pending {
		return refusal(c.unchanged()), nil
	}
	if status != running {
		return plan{c.is(WouldBeCancelledInTable), func(ctx context.Context) (Outcome, error) { return c.cancel(ctx, false) }}, nil
	}
	return plan{c.is(WouldBeCancelled), func(ctx context.Context) (Outcome, error) { return c.cancel(ctx, true) }}, nil
}

// cancel asks the delivery's workflow to end. If no workflow runs, or no worker handles the
// request in time, it cancels the row: a rollback may terminate the workflow before a worker does.
func (c deliveryChange) cancel(ctx context.Context, runs bool) (Outcome, error) {
	if runs {
		if err := c.Launcher.Cancel(ctx, c.id, c.Order.cause()); err != nil {
			return Outcome{}, err
		}
		_, _ = c.awaitEnd(ctx, cancelWait, c.temporal().GetWorkflow(ctx, c.id, ""))
	}
	done := Cancelled
	c, err := c.delivery(ctx, c.id)
	if err == nil && c.state.Status == notification.Pending {
		if done = CancelledInTable; runs {
			done = CancelledBeforeWorkflow
		}
		if _, err = attempt.On(c.DB).GiveUp(ctx, c.id, notification.Cancelled, cancelled); err == nil {
			c, err = c.delivery(ctx, c.id)
		}
	}
	switch {
	case err != nil:
		return Outcome{}, err
	case c.state.Status == notification.Cancelled:
		return c.is(done), nil
	case runs && c.state.Status == notification.Pending: // an attempt at its digest
		return c.is(CancellationAccepted), nil
	default:
		return c.unchanged(), nil
	}
}

// planEndEscalation plans to end the escalation of a sent delivery. Without an escalation, or if
// the next delivery exists already, the plan changes nothing.
func (c deliveryChange) planEndEscalation(ctx context.Context) (plan, error) {
	found, err := report.Reader{Pool: c.DB.Pool}.Escalation(ctx, c.id)
	if err != nil || !found.Escalates {
		return refusal(c.is(WasSent)), err
	}
	if found.FollowedBy != "" {
		followed := c.is(WasSentAndFollowed)
		followed.Other = found.FollowedBy
		return refusal(followed), nil
	}
	status, err := c.workflowStatus(ctx, workflows.EscalationID(c.id))
	if err != nil || status != running {
		return refusal(c.is(WasSent)), err
	}
	return plan{c.is(EscalationWouldEnd), c.endEscalation}, nil
}

func (c deliveryChange) endEscalation(ctx context.Context) (Outcome, error) {
	ended, err := escalation.On(c.DB).EndEscalation(ctx, c.id)
	if err != nil {
		return Outcome{}, err
	}
	if !ended { // the next delivery was written after the plan
		next, err := c.planEndEscalation(ctx)
		return next.expected, err
	}
	_, _ = c.awaitEnd(ctx, cancelWait, c.temporal().GetWorkflow(ctx, workflows.EscalationID(c.id), ""))
	return c.is(EscalationEnded), nil
}
