package launch

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/workflows"
)

// StartPoller starts the n-th poller of a source, unless it runs already. With anew, it terminates
// a running poller first. The events that its activity has claimed are leased, so none is lost.
func (l *Launcher) StartPoller(ctx context.Context, source string, n int, anew bool) error {
	conflict := enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	if anew {
		conflict = enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	}
	options := client.StartWorkflowOptions{
		ID:                       workflows.PollerID(l.Prefix, source, n),
		TaskQueue:                workflows.EventsQueue(l.Prefix),
		WorkflowIDConflictPolicy: conflict,
		StaticSummary:            "starts the workflows of pending events",
	}
	if _, err := l.Client.ExecuteWorkflow(ctx, options, workflows.PollOutbox, workflows.PollInput{Source: source}); err != nil {
		return fmt.Errorf("start poller %d of %s: %w", n, source, err)
	}
	return nil
}
