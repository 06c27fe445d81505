package operate

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"

	"herald/internal/advice"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// RetryEvent puts failed or cancelled events back into the outbox. allFailed leaves
// out those that an operator cancelled, which have to be named.
func RetryEvent(allFailed bool) Verb {
	return Verb{Name: "retry", Noun: Events, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		return o.planRetryEvent(ctx, id, allFailed)
	}}
}

func (o *Operator) planRetryEvent(ctx context.Context, id string, allFailed bool) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	status, err := o.settledStatus(ctx, id, state.Processed == notification.ProcessedFailed)
	if err != nil {
		return plan{}, err
	}
	if result, detail := retryRefusal(state, status, allFailed); result != "" {
		return refusal(Outcome{ID: id, Result: result, Detail: detail, Next: showEvent(id)}), nil
	}
	expected := Outcome{ID: id, Done: true, Result: "would be retried"}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.retryEvent(ctx, id) }}, nil
}

// retryRefusal says why an event cannot be retried; empty: it can. One that is
// PROCESSING without a workflow that runs can: its workflow was terminated.
func retryRefusal(state postgres.EventState, status enums.WorkflowExecutionStatus, allFailed bool) (result, detail string) {
	switch {
	case state.Outbox == "":
		return "cannot be retried", "its row in event_outbox was purged"
	case state.Processed == notification.ProcessedSuccess, status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return "has succeeded", "`starter delivery retry` repeats single deliveries"
	case status == running:
		return "is under way", "its workflow runs"
	case state.Outbox == notification.OutboxPending && state.Processed == "":
		return "is pending", "a poller will start it"
	case allFailed && status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return "was cancelled", "name it to retry it"
	case state.Outbox == notification.OutboxProcessed && state.Processed == "":
		return "has ended", "its row in processed_event was purged"
	default:
		return "", ""
	}
}

func (o *Operator) retryEvent(ctx context.Context, id string) (Outcome, error) {
	retried, err := o.Store.RetryEvent(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !retried {
		return Outcome{ID: id, Result: "changed meanwhile", Next: showEvent(id)}, nil
	}
	outcome := Outcome{ID: id, Done: true, Result: "is pending again"}
	counts, err := o.Store.EventCounts(ctx, id)
	if count := counts[notification.Cancelled]; count > 0 {
		outcome.Detail = fmt.Sprintf("%d of its deliveries stay cancelled; `starter delivery retry --event %s --status CANCELLED` sends them after all",
			count, advice.Quote(id))
	}
	return outcome, err
}
