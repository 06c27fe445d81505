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
		id     string
	}{
		{source: "herald", id: "herald-outbox-poller-2"},
		{source: "herald", answer: errors.New("no connection"), id: "herald-outbox-poller-2"},
		{source: "orders", id: "herald-orders-poller-2"},
	}
	for _, tt := range tests {
		server := mocks.NewClient(t)
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == tt.id && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		})
		server.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), workflows.PollInput{Source: tt.source}).Return(nil, tt.answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		require.ErrorIs(t, launcher.StartPoller(t.Context(), tt.source, 2), tt.answer)
	}
}
