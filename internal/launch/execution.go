package launch

import (
	"cmp"
	"context"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
)

// Execution describes the last run of a workflow; the zero value: Temporal knows none.
func (l *Launcher) Execution(ctx context.Context, workflowID string) (activities.Execution, error) {
	described, err := Describe(ctx, l.Client, workflowID, "")
	if err != nil || described == nil {
		return activities.Execution{}, err
	}
	info := described.GetWorkflowExecutionInfo()
	found := activities.Execution{
		Type:      info.GetType().GetName(),
		TaskQueue: described.GetExecutionConfig().GetTaskQueue().GetName(),
		RunID:     info.GetExecution().GetRunId(),
		State:     stateOf(info.GetStatus()),
	}
	if closed := info.GetCloseTime(); closed != nil {
		found.ClosedAt = closed.AsTime()
	}
	if found.State == activities.WorkflowTerminated {
		found.State, err = terminated(ctx, l.Client, workflowID, found.RunID)
	}
	return found, err
}

// HasChild reports whether the last run of a workflow runs, and waits for a child with this id. After
// a reset, Temporal knows only the children that started before the reset's workflow task.
func (l *Launcher) HasChild(ctx context.Context, workflowID, childID string) (bool, error) {
	described, err := Describe(ctx, l.Client, workflowID, "")
	is := func(child *workflow.PendingChildExecutionInfo) bool { return child.GetWorkflowId() == childID }
	runs := stateOf(described.GetWorkflowExecutionInfo().GetStatus()) == activities.WorkflowRunning
	return runs && slices.ContainsFunc(described.GetPendingChildren(), is), err
}

// afterResets describes one run of a workflow, or the run that replaced it by a reset. A reset
// terminates the run, but its children continue in the name of the new run. Nil: Temporal knows none.
func afterResets(
	ctx context.Context, temporal client.Client, workflowID, runID string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	for {
		described, err := Describe(ctx, temporal, workflowID, runID)
		if runID = described.GetWorkflowExtendedInfo().GetResetRunId(); err != nil || runID == "" {
			return described, err
		}
	}
}

// Terminated reports whether one run of a workflow was terminated or deleted, other than by a reset.
func (l *Launcher) Terminated(ctx context.Context, workflowID, runID string) (bool, error) {
	described, err := afterResets(ctx, l.Client, workflowID, runID)
	terminated := described.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_TERMINATED
	return err == nil && (described == nil || terminated), err
}

func stateOf(status enums.WorkflowExecutionStatus) activities.WorkflowState {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_PAUSED, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return activities.WorkflowRunning
	case enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return activities.WorkflowCompleted
	case enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return activities.WorkflowTerminated
	case enums.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return activities.WorkflowCancelled
	default:
		return activities.WorkflowFailed
	}
}

// execution describes the last run of a workflow of this type and task queue. If another workflow has the
// id, the result is the zero value.
func (l *Launcher) execution(ctx context.Context, id, workflowType, queue string) (activities.Execution, error) {
	found, err := l.Execution(ctx, id)
	if err != nil || found.Type != workflowType || found.TaskQueue != queue {
		return activities.Execution{}, err
	}
	return found, nil
}

// terminated returns the state of a terminated run. A rollback may terminate a run before a worker
// handles an operator's request to cancel it: the run then counts as cancelled.
func terminated(ctx context.Context, temporal client.Client, id, runID string) (activities.WorkflowState, error) {
	reason, err := terminationReason(ctx, temporal, id, runID)
	if err != nil {
		return activities.WorkflowUnknown, err
	}
	if reason != notification.RollbackReason {
		return activities.WorkflowTerminated, nil
	}
	requested, err := cancelRequest(ctx, temporal, id, runID)
	switch {
	case err != nil:
		return activities.WorkflowUnknown, err
	case requested != nil && requested.GetExternalWorkflowExecution() == nil:
		return activities.WorkflowCancelled, nil
	default:
		return activities.WorkflowRolledBack, nil
	}
}

// cancelRequest returns the first request to cancel a run; nil: there is none, or Temporal forgot
// the run. A request by a client, such as an operator's, has no external workflow.
func cancelRequest(
	ctx context.Context, temporal client.Client, workflowID, runID string,
) (*history.WorkflowExecutionCancelRequestedEventAttributes, error) {
	events := temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, unlessGone(err, "read the history of "+workflowID)
		}
		if requested := event.GetWorkflowExecutionCancelRequestedEventAttributes(); requested != nil {
			return requested, nil
		}
	}
	return nil, nil
}

// terminationReason returns the reason with which a run was terminated; empty: it was not, it still
// runs, or Temporal forgot it.
func terminationReason(ctx context.Context, temporal client.Client, workflowID, runID string) (string, error) {
	history := temporal.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	if !history.HasNext() {
		return "", nil
	}
	event, err := history.Next()
	if err != nil {
		return "", unlessGone(err, "read the end of "+workflowID)
	}
	return event.GetWorkflowExecutionTerminatedEventAttributes().GetReason(), nil
}

// RolledBack reports whether a run was cancelled only because its event was terminated with
// [notification.RollbackReason].
func (l *Launcher) RolledBack(ctx context.Context, workflowID, runID string) (bool, error) {
	described, err := Describe(ctx, l.Client, workflowID, runID)
	root := described.GetWorkflowExecutionInfo().GetRootExecution()
	if err != nil || root.GetWorkflowId() == "" || root.GetWorkflowId() == workflowID {
		return false, err
	}
	event, err := afterResets(ctx, l.Client, root.GetWorkflowId(), root.GetRunId())
	if err != nil {
		return false, err
	}
	last := cmp.Or(event.GetWorkflowExecutionInfo().GetExecution().GetRunId(), root.GetRunId())
	reason, err := terminationReason(ctx, l.Client, root.GetWorkflowId(), last)
	if err != nil || reason != notification.RollbackReason {
		return false, err
	}
	requested, err := cancelRequest(ctx, l.Client, workflowID, runID)
	return requested.GetExternalWorkflowExecution() != nil, err
}
