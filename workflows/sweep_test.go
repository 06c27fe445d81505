package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// Sweep retries after a failure.
func TestSweep(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	found := notification.Sweep{Looked: 12, StartedAgain: 1, Failed: 2}
	env.OnActivity(acts.Sweep, mock.Anything).Return(notification.Sweep{}, errors.New("a bug")).Times(3)
	env.OnActivity(acts.Sweep, mock.Anything).Return(found, nil).Once()

	env.ExecuteWorkflow(workflows.Sweep)

	require.Equal(t, found, resultOf[notification.Sweep](t, env))
}

// FollowUp survives any failure, and continues in another run before its history grows long.
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
	env.OnActivity(acts.FollowUp, mock.Anything).Return(activities.FollowUpResult{}, errors.New("a bug")) // Temporal backs off
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.FollowUp)

	env.requireStopped(t)
}

// CleanOutboxes retries an outbox that is out of reach, and cleans the other outboxes meanwhile.
func TestCleanOutboxes(t *testing.T) {
	t.Parallel()

	orders := activities.CleanOutboxInput{Source: "orders", Retention: time.Hour}
	herald := activities.CleanOutboxInput{Source: "herald", Retention: 2 * time.Hour}
	for _, ordersDown := range []bool{false, true} {
		env := newEnv(t)
		want := ""
		if ordersDown {
			want = "Down"
			env.OnActivity(acts.CleanOutbox, mock.Anything, orders).Return(activities.CleanOutboxResult{},
				temporal.NewApplicationError("no connection", "Down")).Times(5)
		} else {
			env.OnActivity(acts.CleanOutbox, mock.Anything, orders).Return(activities.CleanOutboxResult{Source: "orders", Deleted: 7, More: true},
				nil).Once()
		}
		env.OnActivity(acts.CleanOutbox, mock.Anything, herald).Return(activities.CleanOutboxResult{Source: "herald", Deleted: 3}, nil).Once()

		env.ExecuteWorkflow(workflows.CleanOutboxes, workflows.CleanInput{Outboxes: []activities.CleanOutboxInput{orders, herald}})

		env.requireFailure(t, want)
		env.AssertExpectations(t)
		if !ordersDown {
			result := resultOf[workflows.CleanResult](t, env)
			require.Equal(t, []activities.CleanOutboxResult{{Source: "orders", Deleted: 7, More: true}, {Source: "herald", Deleted: 3}},
				result.Outboxes)
		}
	}
}
