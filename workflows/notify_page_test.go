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
	"herald/workflows"
)

func TestNotifyPage(t *testing.T) {
	t.Parallel()

	for _, n := range []int{0, 1, 100, 130} {
		env := newPageEnv(t)
		env.deliveries.end = takes[workflows.DeliverInput](time.Second)
		env.lists(batch(n), nil)

		env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

		require.NoError(t, env.GetWorkflowError())
		require.ElementsMatch(t, inputs(batch(n)), env.deliveries.started)
		require.Equal(t, min(n, 100), env.deliveries.mostOpen)
		env.AssertExpectations(t)
	}
}

func TestNotifyPageOutlastsAnOutage(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	for range 4 {
		env.lists(activities.DeliveryBatch{}, errors.New("database out of reach"))
	}
	env.lists(batch(2), nil)

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, inputs(batch(2)), env.deliveries.started)
	env.AssertExpectations(t)
}

func TestNotifyPageWithADeliveryThatFails(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	env.deliveries.end = func(workflow.Context, workflows.DeliverInput) error {
		return temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed)
	}
	env.lists(batch(2), nil)

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	require.NoError(t, env.GetWorkflowError())
	require.ElementsMatch(t, inputs(batch(2)), env.deliveries.started)
}

func TestNotifyPageCancelled(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	env.lists(batch(150), nil)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

	env.requireCancelled(t)
	require.Len(t, env.deliveries.started, 100)
	require.Equal(t, 100, env.deliveries.cancelled)
}

// lists expects that the third page is read.
func (e *environment) lists(b activities.DeliveryBatch, err error) {
	e.OnActivity(acts.ListDeliveries, mock.Anything, activities.ListInput{EventID: eventID, IDs: stored(3)}).Return(b, err).Once()
}
