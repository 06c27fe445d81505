package operate

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"

	"herald/internal/advice"
	"herald/internal/event"
	"herald/internal/notification"
)

// RetryEvent puts failed or cancelled events back into the outbox. Events that missed recipients
// because of the rules are planned again. A bulk retry leaves out events that an operator cancelled:
// an operator has to name them.
func RetryEvent(bulk bool) Verb {
	return Verb{Name: "retry", Noun: Events, plan: func(o *Operator, ctx context.Context, id string) (plan, error) {
		return o.planRetryEvent(ctx, id, bulk)
	}}
}

func (o *Operator) planRetryEvent(ctx context.Context, id string, bulk bool) (plan, error) {
	state, err := o.event(ctx, id)
	if err != nil {
		return plan{}, err
	}
	status, err := o.settledStatus(ctx, id, state.Processed == notification.ProcessedFailed || mendable(state))
	if err != nil {
		return plan{}, err
	}
	if result, detail := retryRefusal(state, status, bulk); result != "" {
		return refusal(Outcome{ID: id, Result: result, Detail: detail, Next: showEvent(id)}), nil
	}
	if beginsAnew(state, status) {
		if err := o.Launcher.CheckSource(state.Source); err != nil { // the event would stay PROCESSING without a workflow
			return refusal(Outcome{ID: id, Result: "cannot be planned again here", Detail: err.Error(), Next: "set OUTBOX_SOURCES as the workers have it"}), nil
		}
		expected := Outcome{ID: id, Done: true, Result: "would be planned again"}
		return plan{expected, func(ctx context.Context) (Outcome, error) { return o.planAnew(ctx, id) }}, nil
	}
	expected := Outcome{ID: id, Done: true, Result: "would be retried"}
	return plan{expected, func(ctx context.Context) (Outcome, error) { return o.retryEvent(ctx, id) }}, nil
}

// mendable reports whether an event missed recipients because of the rules.
func mendable(state event.EventState) bool {
	return state.Processed == notification.ProcessedSuccess && state.Outcome.Mendable()
}

// beginsAnew reports whether the workflow of an event is to start once more although its last run
// completed: the event is mendable, or an earlier retry was interrupted.
func beginsAnew(state event.EventState, status enums.WorkflowExecutionStatus) bool {
	return mendable(state) || (state.Processed == notification.Processing && status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED)
}

// retryRefusal returns the reason why an event cannot be retried; empty: it can. An event that is
// PROCESSING without a running workflow can be retried: its workflow was terminated.
func retryRefusal(state event.EventState, status enums.WorkflowExecutionStatus, bulk bool) (result, detail string) {
	switch {
	case state.Outbox == "":
		return "cannot be retried", "its row in event_outbox was purged"
	case state.Processed == notification.ProcessedSuccess && state.Outcome == notification.Incomplete:
		return "is incomplete", "within 10 minutes, the sweep starts its PENDING deliveries again"
	case state.Processed == notification.ProcessedSuccess && !mendable(state):
		return "has succeeded", "it told everybody that the rules named; `starter delivery retry` repeats single deliveries"
	case state.CancelledBy != "":
		return "cannot be retried", notification.CancelledBy(state.CancelledBy) + "; `starter delivery retry ID --again` sends a single delivery after all"
	case status == running:
		return "is under way", "its workflow runs"
	case state.Outcome == notification.EventRejected:
		return "was rejected", "write another event, which asks for approval again"
	case beginsAnew(state, status):
		return "", ""
	case status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return "has succeeded", "`starter delivery retry` repeats single deliveries"
	case state.Outbox == notification.OutboxPending && state.Processed == "":
		return "is pending", "a poller will start it"
	case bulk && (status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED || (status == unknown && state.Outcome == notification.EventCancelled)): // Temporal may have forgotten it
		return "was cancelled", "name it to retry it"
	case state.Outbox == notification.OutboxProcessed && state.Processed == "":
		return "has ended", "its row in processed_event was purged"
	default:
		return "", ""
	}
}

func (o *Operator) retryEvent(ctx context.Context, id string) (Outcome, error) {
	retried, err := event.On(o.DB).RetryEvent(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !retried {
		return changedMeanwhile(id), nil
	}
	outcome := Outcome{ID: id, Done: true, Result: "is pending again"}
	counts, err := event.On(o.DB).EventCounts(ctx, id)
	if count := counts[notification.Cancelled]; count > 0 {
		outcome.Detail = fmt.Sprintf("%d of its deliveries stay cancelled; `starter delivery retry --event %s --status CANCELLED` sends them after all",
			count, advice.Quote(id))
	}
	return outcome, err
}

// planAnew starts the workflow of an event once more. The workflow plans by the current rules, and
// keeps earlier decisions. If this process dies before the start, the event is PROCESSING without a
// workflow: another call or the sweep starts it.
func (o *Operator) planAnew(ctx context.Context, id string) (Outcome, error) {
	event, begun, err := event.On(o.DB).BeginAnew(ctx, id)
	if err != nil {
		return Outcome{}, err
	}
	if !begun {
		return changedMeanwhile(id), nil
	}
	if err := o.Launcher.StartEventAgain(ctx, event); err != nil {
		return Outcome{}, advice.With(fmt.Errorf("start the workflow of %s: %w", id, err),
			"run it again; if you do not, the sweep starts it within half an hour")
	}
	return Outcome{ID: id, Done: true, Result: "is planned again"}, nil
}

func changedMeanwhile(id string) Outcome {
	return Outcome{ID: id, Result: "changed meanwhile", Next: showEvent(id)}
}

// SelectEventsToRetry selects the events that match a filter, in the order of their ids. The
// selection begins after the id in `after`.
func (o *Operator) SelectEventsToRetry(ctx context.Context, filter event.RetryFilter, after string) (Selection, error) {
	var err error
	if filter.Until, err = o.DB.Now(ctx); err != nil {
		return Selection{}, err
	}
	matched, err := event.On(o.DB).CountEventsToRetry(ctx, filter)
	page := func(ctx context.Context, after string, limit int) ([]item, error) {
		ids, err := event.On(o.DB).EventsToRetry(ctx, filter, after, limit)
		items := make([]item, len(ids))
		for i, id := range ids {
			items[i] = item{id, id}
		}
		return items, err
	}
	return Selection{Matched: matched, After: after, page: page}, err
}

// deliveriesText counts an event's deliveries by status, such as "of its deliveries 3 cancelled; 2
// sent, and stay sent".
func deliveriesText(counts map[notification.Status]int) string {
	if text := notification.CountsText(counts); text != "" {
		return "of its deliveries " + text
	}
	return "it has no deliveries"
}

// showEvent names the command that shows an event.
func showEvent(id string) string {
	return "`starter event show " + advice.Quote(id) + "` shows what became of it"
}
