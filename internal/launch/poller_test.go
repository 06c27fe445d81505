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

	for _, answer := range []error{nil, errors.New("no connection")} {
		server := mocks.NewClient(t)
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == "herald-outbox-poller-2" && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
		})
		server.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), workflows.PollInput{}).Return(nil, answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		require.ErrorIs(t, launcher.StartPoller(t.Context(), 2), answer)
	}
}
