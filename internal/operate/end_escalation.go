package operate

import (
	"context"

	"herald/internal/advice"
	"herald/internal/postgres"
	"herald/internal/postgres/report"
	"herald/workflows"
)

// planEndEscalation plans to end the escalation of a delivery that was sent. Without one, or
// if a delivery follows already, nothing is changed.
func (o *Operator) planEndEscalation(ctx context.Context, id string, state postgres.DeliveryState) (plan, error) {
	refused := unchanged(id, state)
	found, err := report.Reader{Pool: o.Store.Pool}.Escalation(ctx, id)
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
	expected := Outcome{ID: id, Done: true, Result: "its escalation would end", Detail: "it was sent, and stays sent"}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.endEscalation(ctx, id, state) }}, nil
}

func (o *Operator) endEscalation(ctx context.Context, id string, state postgres.DeliveryState) (Outcome, error) {
	ended, err := o.Store.EndEscalation(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !ended { // a delivery follows since the plan
		next, err := o.planEndEscalation(ctx, id, state)
		return next.expected, err
	}
	_, _ = o.awaitEnd(ctx, cancelWait, o.temporal().GetWorkflow(ctx, workflows.EscalationID(id), ""))
	return Outcome{ID: id, Done: true, Result: "its escalation has ended", Detail: "nothing follows; it was sent, and stays sent"}, nil
}
