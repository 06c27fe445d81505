package activities

import (
	"context"
	"fmt"
)

// HolderInput is the input of [Activities.AwaitHolder].
type HolderInput struct {
	WorkflowID string
	Type       string // of the expected workflow
	TaskQueue  string // of the expected workflow
}

// HolderResult is the result of [Activities.AwaitHolder].
type HolderResult struct {
	Other string        `json:",omitempty"` // the unexpected workflow that has the id; empty: none
	State WorkflowState `json:",omitempty"` // of the expected workflow, which has ended; empty: there is none
}

// StillRunning is the type of failure of [Activities.AwaitHolder] while it waits.
const StillRunning = "StillRunning"

// AwaitHolder finds out which workflow has an id. While the expected workflow still runs, the
// activity fails, so Temporal retries it.
func (a *Activities) AwaitHolder(ctx context.Context, in HolderInput) (HolderResult, error) {
	found, err := a.Executions.Execution(ctx, in.WorkflowID)
	switch {
	case err != nil:
		return HolderResult{}, err
	case found.State == WorkflowUnknown:
		return HolderResult{}, nil
	case found.Type != in.Type || found.TaskQueue != in.TaskQueue:
		return HolderResult{Other: fmt.Sprintf("the workflow %s of task queue %s", found.Type, found.TaskQueue)}, nil
	case found.State == WorkflowRunning:
		return HolderResult{}, benign(in.WorkflowID+" still runs", StillRunning, 0)
	default:
		return HolderResult{State: found.State}, nil
	}
}
