package launch_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/workflow"

	"herald/internal/launch"
	"herald/internal/notification"
)

// There is one of an installation, whichever of its workers starts it.
func TestStartFollowUp(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	already := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "request", "run")
	taken := &notification.IDTakenError{WorkflowType: "NotifyEvent", TaskQueue: "herald-events"}
	for _, tt := range []struct {
		name         string
		answer, want error
		found        string // the type of the workflow that has the id
	}{
		{name: "started"},
		{name: "it runs", answer: already, found: "FollowUp"},
		{name: "an event has its id", answer: already, found: "NotifyEvent", want: taken},
		{name: "Temporal is away", answer: down, want: down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server := mocks.NewClient(t)
			its := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				return o.ID == "herald-follow-up" && o.TaskQueue == "herald-events"
			})
			server.On("ExecuteWorkflow", mock.Anything, its, mock.MatchedBy(func(func(workflow.Context) error) bool { return true })).Return(nil, tt.answer).Once()
			if tt.found != "" {
				server.On("DescribeWorkflowExecution", mock.Anything, "herald-follow-up", "").Return(described(tt.found, "herald-events"), nil).Once()
			}
			launcher := launch.Launcher{Client: server, Prefix: "herald"}

			err := launcher.StartFollowUp(t.Context())
			if tt.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want.Error())
			}
		})
	}
}

// That nothing waits is the rule, and no error.
func TestSettleEscalation(t *testing.T) {
	t.Parallel()

	down := serviceerror.NewUnavailable("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {serviceerror.NewNotFound("workflow not found"), nil}, {down, down}} {
		server := mocks.NewClient(t)
		server.On("SignalWorkflow", mock.Anything, "evt-1-customer42-SMS-escalation", "", "settled", nil).Return(tt.answer).Once()
		launcher := launch.Launcher{Client: server}

		require.ErrorIs(t, launcher.SettleEscalation(t.Context(), "evt-1-customer42-SMS"), tt.want)
	}
}
