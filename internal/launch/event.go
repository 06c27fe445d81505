package launch

import (
	"context"
	"errors"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// StartEvent starts the workflow of an event. One that runs, or that Temporal
// remembers to have completed, counts as started. One that failed is started
// again: either an operator put the event back, or the workflow failed before the
// claim that started it was ended. Where another workflow has the id, the error is
// a [notification.IDTakenError].
func (l *Launcher) StartEvent(ctx context.Context, event notification.PendingEvent) error {
	return l.startEvent(ctx, event, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY)
}

// StartEventAgain starts an event's workflow, however an earlier one ended. What
// that one planned and sent is not planned and sent once more.
func (l *Launcher) StartEventAgain(ctx context.Context, event notification.PendingEvent) error {
	return l.startEvent(ctx, event, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE)
}

func (l *Launcher) startEvent(ctx context.Context, event notification.PendingEvent, reuse enums.WorkflowIdReusePolicy) error {
	in, err := l.notifyInput(event)
	if err != nil {
		return err
	}
	options := client.StartWorkflowOptions{
		ID:                                       event.ID,
		TaskQueue:                                workflows.EventsQueue(l.Prefix),
		WorkflowIDReusePolicy:                    reuse,
		TypedSearchAttributes:                    searchAttributes(event),
		StaticSummary:                            summary(event),
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	if event.CorrelationID != "" {
		options.Memo = map[string]any{"correlation_id": event.CorrelationID}
	}
	_, err = l.Client.ExecuteWorkflow(ctx, options, workflows.NotifyEvent, in)
	return l.unlessStarted(ctx, err, options, workflows.NotifyEventType)
}

// CancelEvent asks the workflow of an event to end, if one of this installation runs.
// A workflow of another kind that has the id is left alone.
func (l *Launcher) CancelEvent(ctx context.Context, eventID string) error {
	state, err := l.EventWorkflow(ctx, eventID)
	if err != nil || state != activities.WorkflowRunning {
		return err
	}
	var ended *serviceerror.NotFound
	if err := l.Client.CancelWorkflow(ctx, eventID, ""); err != nil && !errors.As(err, &ended) {
		return fmt.Errorf("cancel workflow: %w", err)
	}
	return nil
}

// EventWorkflow tells what became of an event's workflow.
func (l *Launcher) EventWorkflow(ctx context.Context, eventID string) (activities.WorkflowState, error) {
	return l.state(ctx, eventID, workflows.NotifyEventType, workflows.EventsQueue(l.Prefix))
}
