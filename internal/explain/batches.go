package explain

import (
	"context"
	"fmt"

	workflowpb "go.temporal.io/api/workflow/v1"

	"herald/activities"
	"herald/workflows"
)

// BatchView is a running batch of an event.
type BatchView struct {
	WorkflowID string            `json:"workflow_id"`
	Pending    []PendingActivity `json:"pending_activities,omitempty"`
	Progress   BatchProgress     `json:"progress"` // from its last heartbeat, about a second ago
}

// BatchProgress counts the results of a batch's first attempts.
type BatchProgress struct {
	Sent   int `json:"sent"`
	Failed int `json:"failed"` // permanently
	Later  int `json:"later"`  // failed for now: a separate workflow retries

	Resting string `json:"resting,omitempty"` // end and reason of the sleeps between groups; empty: it does not sleep
}

func (p BatchProgress) String() string {
	text := fmt.Sprintf("%d sent, %d failed, %d to be tried again by separate workflows", p.Sent, p.Failed, p.Later)
	if p.Resting != "" {
		text += "; it rests after each group " + p.Resting
	}
	return text
}

// batches reads the running batches of an event from the children of its workflow.
func (e Explainer) batches(ctx context.Context, children []*workflowpb.PendingChildExecutionInfo) (running []BatchView) {
	for _, lane := range childrenOf(children, workflows.NotifyChannelType) {
		description, _ := e.execution(ctx, lane, nil)
		for _, id := range childrenOf(description.GetPendingChildren(), workflows.DeliverBatchType) {
			batch, _ := e.execution(ctx, id, nil)
			view := BatchView{WorkflowID: id, Pending: pendingOf(batch.GetPendingActivities())}
			for _, activity := range batch.GetPendingActivities() {
				var progress activities.BatchProgress
				if decodeFirst(activity.GetHeartbeatDetails(), &progress) {
					view.Progress = BatchProgress{progress.Sent, progress.Failed, progress.Retried, progress.Resting}
				}
			}
			running = append(running, view)
		}
	}
	return running
}

// childrenOf returns the ids of the children of one type.
func childrenOf(children []*workflowpb.PendingChildExecutionInfo, workflowType string) (ids []string) {
	for _, child := range children {
		if child.GetWorkflowTypeName() == workflowType {
			ids = append(ids, child.GetWorkflowId())
		}
	}
	return ids
}
