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
	return eventVerb("retry", func(c eventChange, ctx context.Context) (plan, error) { return c.planRetry(ctx, bulk) })
}

func (c eventChange) planRetry(ctx context.Context, bulk bool) (plan, error) {
	status, err := c.settledStatus(ctx, c.id, c.state.Processed == notification.ProcessedFailed || mendable(c.state))
	if err != nil {
		return plan{}, err
	}
	if code := retryRefusal(c.state, status, bulk); code != 0 {
		refused := c.is(code)
		refused.By = notification.CancelledBy(c.state.CancelledBy)
		return refusal(refused), nil
	}
	if beginsAnew(c.state, status) {
		if err := c.Launcher.CheckSource(c.state.Source); err != nil { // the event would stay PROCESSING without a workflow
			refused := c.is(EventOfUnknownSource)
			refused.Error = err.Error()
			return refusal(refused), nil
		}
		return plan{c.is(EventWouldBePlanned), c.planAnew}, nil
	}
	return plan{c.is(EventWouldBeRetried), c.retry}, nil
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

// retryRefusal returns the reason why an event cannot be retried; 0: it can. An event that is
// PROCESSING without a running workflow can be retried: its workflow was terminated.
func retryRefusal(state event.EventState, status enums.WorkflowExecutionStatus, bulk bool) Code {
	succeeded := state.Processed == notification.ProcessedSuccess
	forgotten := status == unknown && state.Outcome == notification.EventCancelled // by Temporal
	switch {
	case state.Outbox == "":
		return EventPurged
	case succeeded && state.Outcome == notification.Incomplete:
		return EventIncomplete
	case succeeded && !mendable(state):
		return EventSucceeded
	case state.CancelledBy != "":
		return EventCancelledByAnother
	case status == running:
		return EventUnderWay
	case state.Outcome == notification.EventRejected:
		return EventRejected
	case beginsAnew(state, status):
		return 0
	case status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return EventCompleted
	case state.Outbox == notification.OutboxPending && state.Processed == "":
		return EventPending
	case bulk && (status == enums.WORKFLOW_EXECUTION_STATUS_CANCELED || forgotten):
		return EventCancelledByOperator
	case state.Outbox == notification.OutboxProcessed && state.Processed == "":
		return EventEndPurged
	default:
		return 0
	}
}

// retry puts the event back into the outbox.
func (c eventChange) retry(ctx context.Context) (Outcome, error) {
	retried, err := event.On(c.DB).RetryEvent(ctx, c.id)
	if err != nil {
		return Outcome{}, err
	}
	if !retried {
		return c.is(EventChangedMeanwhile), nil
	}
	return c.counted(ctx, EventRetried)
}

// planAnew starts the workflow of an event once more. The workflow plans by the current rules, and
// keeps earlier decisions. If this process dies before the start, the event is PROCESSING without a
// workflow: another call or the sweep starts it.
func (c eventChange) planAnew(ctx context.Context) (Outcome, error) {
	event, begun, err := event.On(c.DB).BeginAnew(ctx, c.id)
	if err != nil {
		return Outcome{}, err
	}
	if !begun {
		return c.is(EventChangedMeanwhile), nil
	}
	if err := c.Launcher.StartEventAgain(ctx, event); err != nil {
		return Outcome{}, advice.With(fmt.Errorf("start the workflow of %s: %w", c.id, err),
			"run it again; if you do not, the sweep starts it within half an hour")
	}
	return c.is(EventPlanned), nil
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
