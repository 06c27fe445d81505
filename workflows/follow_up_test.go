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

// It outlasts any failure, and goes on in another run before its history grows long.
func TestFollowUp(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.FollowUp, mock.Anything).Return(activities.FollowUpResult{}, errors.New("a bug")).Times(8)
	env.OnActivity(acts.FollowUp, mock.Anything).Return(activities.FollowUpResult{Done: 3}, nil).Times(120)

	env.ExecuteWorkflow(workflows.FollowUp)

	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	require.Equal(t, workflows.FollowUpType, next.WorkflowType.Name)
}

func TestFollowUpCancelled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.FollowUp, mock.Anything).Return(activities.FollowUpResult{}, nil).Times(2)
	env.OnActivity(acts.FollowUp, mock.Anything).Return(activities.FollowUpResult{}, errors.New("a bug")) // backs off
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.FollowUp)

	env.requireStopped(t)
}
