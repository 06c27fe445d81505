package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/workflows"
)

func TestPollOutboxContinuesAsNew(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything).Return(activities.PollOutboxResult{Started: 3}, nil).Times(120)

	env.ExecuteWorkflow(workflows.PollOutbox)

	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, pollOutbox, next.WorkflowType.Name)
	require.Nil(t, next.Input)
	env.AssertExpectations(t)
}

func TestPollOutboxOutlastsAnOutage(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything).Return(activities.PollOutboxResult{}, errors.New("a bug")).Times(8)
	env.OnActivity(acts.PollOutbox, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(120)

	env.ExecuteWorkflow(workflows.PollOutbox)

	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()))
	env.AssertExpectations(t)
}

func TestPollOutboxCancelled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(2)
	env.OnActivity(acts.PollOutbox, mock.Anything).Return(activities.PollOutboxResult{}, errors.New("a bug")) // backs off
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.PollOutbox)

	env.requireCancelled(t)
	env.AssertExpectations(t)
}
