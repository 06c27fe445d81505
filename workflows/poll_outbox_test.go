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

	for _, source := range []string{"", "orders"} {
		env := newEnv(t)
		env.OnActivity(acts.PollOutbox, mock.Anything, activities.PollOutboxInput{Source: source}).Return(activities.PollOutboxResult{Started: 3}, nil).Times(120)

		env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{Source: source})

		require.Equal(t, workflows.PollInput{Source: source}, nextRun[workflows.PollInput](t, env, pollOutbox))
	}
}

// A poller outlasts the workers that were not told of its source.
func TestPollOutboxOfAnUnknownSource(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return((&activities.Activities{}).PollOutbox).Twice()
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(120)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{Source: "wallet"})

	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()))
}

func TestPollOutboxOutlastsAnOutage(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, errors.New("a bug")).Times(8)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(120)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{})

	require.True(t, workflow.IsContinueAsNewError(env.GetWorkflowError()))
}

func TestPollOutboxCancelled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, nil).Times(2)
	env.OnActivity(acts.PollOutbox, mock.Anything, mock.Anything).Return(activities.PollOutboxResult{}, errors.New("a bug")) // backs off
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.PollOutbox, workflows.PollInput{})

	env.requireStopped(t)
}
