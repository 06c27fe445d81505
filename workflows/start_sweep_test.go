package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// One schedule an installation, which is left as it is where it is there.
func TestScheduleSweep(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {temporal.ErrScheduleAlreadyRunning, nil}, {down, down}} {
		server, schedules := mocks.NewClient(t), mocks.NewScheduleClient(t)
		server.On("ScheduleClient").Return(schedules)
		every := mock.MatchedBy(func(o client.ScheduleOptions) bool {
			action, ok := o.Action.(*client.ScheduleWorkflowAction)
			return ok && o.ID == "herald-sweep" && action.ID == "herald-sweep" && action.TaskQueue == "herald-events" &&
				o.Overlap == enums.SCHEDULE_OVERLAP_POLICY_SKIP && o.Spec.Intervals[0].Every == 10*time.Minute
		})
		schedules.On("Create", mock.Anything, every).Return(nil, tt.answer).Once()
		starter := workflows.Starter{Client: server, Prefix: "herald"}

		require.ErrorIs(t, starter.ScheduleSweep(t.Context()), tt.want)
	}
}

// Every status that Temporal has, and workflows that are not ours.
func TestWorkflowState(t *testing.T) {
	t.Parallel()

	const unknown, running, failed = activities.WorkflowUnknown, activities.WorkflowRunning, activities.WorkflowFailed
	states := map[enums.WorkflowExecutionStatus]activities.WorkflowState{
		enums.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:      failed,
		enums.WORKFLOW_EXECUTION_STATUS_RUNNING:          running,
		enums.WORKFLOW_EXECUTION_STATUS_COMPLETED:        activities.WorkflowCompleted,
		enums.WORKFLOW_EXECUTION_STATUS_FAILED:           failed,
		enums.WORKFLOW_EXECUTION_STATUS_CANCELED:         activities.WorkflowCancelled,
		enums.WORKFLOW_EXECUTION_STATUS_TERMINATED:       activities.WorkflowTerminated,
		enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: running,
		enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:        failed,
		enums.WORKFLOW_EXECUTION_STATUS_PAUSED:           running,
	}
	require.Len(t, states, len(enums.WorkflowExecutionStatus_name))
	down := serviceerror.NewUnavailable("no connection")
	for status, want := range states {
		requireState(t, "DeliverNotification", "herald-email", status, nil, want, nil)
	}
	const up = enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	requireState(t, "NotifyEvent", "herald-email", up, nil, unknown, nil)
	requireState(t, "DeliverNotification", "other-email", up, nil, unknown, nil)
	requireState(t, "", "", up, serviceerror.NewNotFound("no such workflow"), unknown, nil)
	requireState(t, "", "", up, down, "", down)
}

func requireState(t *testing.T, workflowType, queue string, status enums.WorkflowExecutionStatus, answer error, want activities.WorkflowState, wantErr error) {
	t.Helper()
	found := described(workflowType, queue)
	found.WorkflowExecutionInfo.Status = status
	server := mocks.NewClient(t)
	server.On("DescribeWorkflowExecution", mock.Anything, "evt-1-staff10-EMAIL", "").Return(found, answer).Once()
	starter := workflows.Starter{Client: server, Prefix: "herald"}

	got, err := starter.DeliveryState(t.Context(), "evt-1-staff10-EMAIL", notification.Email)

	require.ErrorIs(t, err, wantErr)
	require.Equal(t, want, got, "%s of %s on %s", status, workflowType, queue)
}

// A delivery is started again as its event would have started it.
func TestStartDeliveryAgain(t *testing.T) {
	t.Parallel()

	planned := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tomorrow := planned.Add(24 * time.Hour)
	const id = "evt-1-staff10-EMAIL"
	started := serviceerror.NewWorkflowExecutionAlreadyStarted("started", "", "")
	tests := []struct {
		name     string
		delivery notification.Delivery
		want     workflows.DeliverInput
		answer   error
		holder   string
		err      error
	}{
		{"at once", notification.Delivery{}, workflows.DeliverInput{SendAfter: planned}, nil, "", nil},
		{"delayed", notification.Delivery{SendAfter: tomorrow, Wait: "08:00: delay"}, workflows.DeliverInput{SendAfter: tomorrow, Wait: "08:00: delay"}, nil, "", nil},
		{"in a digest", notification.Delivery{Digest: true}, workflows.DeliverInput{Digest: true}, nil, "", nil},
		{"by an operator meanwhile", notification.Delivery{}, workflows.DeliverInput{SendAfter: planned}, started, "DeliverNotification", nil},
		{"another has the id", notification.Delivery{}, workflows.DeliverInput{SendAfter: planned}, started, "NotifyEvent", &notification.IDTakenError{WorkflowType: "NotifyEvent", TaskQueue: "herald-email"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server := mocks.NewClient(t)
			options := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
				return o.ID == id && o.TaskQueue == "herald-email" && o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE &&
					o.WorkflowExecutionErrorWhenAlreadyStarted && o.StaticSummary == "EMAIL to RESTAURANT_USER/10, started again by the sweep"
			})
			tt.want.DeliveryID, tt.want.Channel, tt.want.Policy = id, notification.Email, policy(notification.Email)
			server.On("ExecuteWorkflow", mock.Anything, options, mock.MatchedBy(isDeliverNotification), tt.want).Return(nil, tt.answer).Once()
			if tt.holder != "" {
				server.On("DescribeWorkflowExecution", mock.Anything, id, "").Return(described(tt.holder, "herald-email"), nil).Once()
			}
			lost := notification.StuckDelivery{Delivery: tt.delivery, EventID: "evt-1", EventType: "T", Aggregate: aggregate, CreatedAt: planned}
			lost.DeliveryID, lost.Channel, lost.UserType, lost.UserID = id, notification.Email, notification.RestaurantUser, "10"
			starter := workflows.Starter{Client: server, Prefix: "herald"}

			err := starter.StartDeliveryAgain(t.Context(), lost, policy(notification.Email))

			require.Equal(t, tt.err, err)
		})
	}
}

// An event is started again however its last run ended.
func TestStartEventAgain(t *testing.T) {
	t.Parallel()

	server := mocks.NewClient(t)
	options := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.ID == "evt-1" && o.WorkflowIDReusePolicy == enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE && o.WorkflowExecutionErrorWhenAlreadyStarted
	})
	server.On("ExecuteWorkflow", mock.Anything, options, mock.MatchedBy(isNotifyEvent), mock.Anything).Return(nil, nil).Once()
	starter := workflows.Starter{Client: server, Prefix: "herald"}

	require.NoError(t, starter.StartEventAgain(t.Context(), notification.PendingEvent{ID: "evt-1"}))
}
