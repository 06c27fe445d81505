package launch_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"herald/internal/launch"
	"herald/workflows"
)

func TestStartPoller(t *testing.T) {
	t.Parallel()

	tests := []struct {
		source string
		answer error
		anew   bool
		id     string
		policy enums.WorkflowIdConflictPolicy
	}{
		{source: "herald", id: "herald-outbox-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "herald", answer: errors.New("no connection"), id: "herald-outbox-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "orders", anew: true, id: "herald-orders-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING},
	}
	for _, tt := range tests {
		server := mocks.NewClient(t)
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == tt.id && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == tt.policy
		})
		server.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), workflows.PollInput{Source: tt.source}).Return(nil, tt.answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		require.ErrorIs(t, launcher.StartPoller(t.Context(), tt.source, 2, tt.anew), tt.answer)
	}
}
