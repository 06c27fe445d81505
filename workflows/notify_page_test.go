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

// An event that is started again repeats what failed, and nothing else.
func TestNotifyPageRepeatsOnlyWhatFailed(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name string
		end  error // of the first delivery, which comes up again when that has ended
		want int
	}{
		{"sent", nil, 100},
		{"failed", temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed), 101},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, all := newPageEnv(t), batch(100)
			env.deliveries.end = func(ctx workflow.Context, in workflows.DeliverInput) error {
				if in.DeliveryID == all.Deliveries[0].DeliveryID {
					return tt.end
				}
				return workflow.Sleep(ctx, time.Minute)
			}
			all.Deliveries = append(all.Deliveries, all.Deliveries[0])
			env.lists(all, nil)

			env.ExecuteWorkflow(workflows.NotifyPage, pageInput(3))

			require.NoError(t, env.GetWorkflowError())
			require.Len(t, env.deliveries.started, tt.want)
		})
	}
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

// lists expects that what is to be sent at once of the third page is read.
func (e *environment) lists(b activities.DeliveryBatch, err error) {
	e.OnActivity(acts.ListDeliveries, mock.Anything, activities.ListInput{EventID: eventID, IDs: stored(3)}).Return(b, err).Once()
}

// listsWaiting expects that what waits of the third page is read.
func (e *environment) listsWaiting(b activities.DeliveryBatch) {
	e.OnActivity(acts.ListDeliveries, mock.Anything, activities.ListInput{EventID: eventID, IDs: stored(3), Waiting: true}).Return(b, nil).Once()
}
