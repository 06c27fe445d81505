package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

// withSchedules returns a launcher, and mocks of the schedules of its Temporal.
func withSchedules(t *testing.T) (*launch.Launcher, *mocks.ScheduleClient, *mocks.ScheduleHandle) {
	server, launcher := withServer(t)
	schedules, handle := mocks.NewScheduleClient(t), mocks.NewScheduleHandle(t)
	server.On("ScheduleClient").Return(schedules)
	schedules.On("GetHandle", mock.Anything, "herald-cleaning").Return(handle).Maybe()
	return launcher, schedules, handle
}

// scheduled matches the options of a schedule that starts the workflow of this id.
func scheduled(id string, every time.Duration) any {
	return mock.MatchedBy(func(o client.ScheduleOptions) bool {
		action, ok := o.Action.(*client.ScheduleWorkflowAction)
		return ok && o.ID == id && action.ID == id && action.TaskQueue == "herald-events" &&
			o.Overlap == enums.SCHEDULE_OVERLAP_POLICY_SKIP && o.Spec.Intervals[0].Every == every
	})
}

// An installation has one schedule. An existing schedule does not change.
func TestScheduleSweep(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {temporal.ErrScheduleAlreadyRunning, nil}, {down, down}} {
		launcher, schedules, _ := withSchedules(t)
		schedules.On("Create", mock.Anything, scheduled("herald-sweep", 10*time.Minute)).Return(nil, tt.answer).Once()

		require.ErrorIs(t, launcher.ScheduleSweep(t.Context()), tt.want)
	}
}

// An installation has one schedule, with the settings of the worker that started last. An
// operator's pause stays.
func TestCleaning(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	outboxes := []activities.CleanOutboxInput{{Source: "orders", Retention: time.Hour}}
	for _, tt := range []struct {
		name           string
		create, update error
		updated        bool
		want           error
	}{
		{name: "no schedule"},
		{name: "existing schedule", create: temporal.ErrScheduleAlreadyRunning, updated: true},
		{name: "existing schedule, then Temporal is out of reach", create: temporal.ErrScheduleAlreadyRunning, updated: true, update: down,
			want: down},
		{name: "Temporal out of reach", create: down, want: down},
	} {
		launcher, schedules, handle := withSchedules(t)
		schedules.On("Create", mock.Anything, scheduled("herald-cleaning", 15*time.Minute)).Return(nil, tt.create).Once()
		if tt.updated {
			handle.On("Update", mock.Anything, mock.MatchedBy(func(o client.ScheduleUpdateOptions) bool {
				paused := &client.ScheduleState{Paused: true}
				changed, err := o.DoUpdate(client.ScheduleUpdateInput{
					Description: client.ScheduleDescription{Schedule: client.Schedule{State: paused}},
				})
				action, ok := changed.Schedule.Action.(*client.ScheduleWorkflowAction)
				return err == nil && ok && changed.Schedule.State == paused && action.Args[0].(workflows.CleanInput).Outboxes[0].Source == "orders"
			})).Return(tt.update).Once()
		}
		require.ErrorIs(t, launcher.Cleaning(outboxes)(t.Context()), tt.want, tt.name)
	}
}

// Without a retention setting there is no schedule.
func TestUnscheduleCleaning(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {serviceerror.NewNotFound("no schedule"), nil}, {down, down}} {
		launcher, _, handle := withSchedules(t)
		handle.On("Delete", mock.Anything).Return(tt.answer).Once()

		require.ErrorIs(t, launcher.Cleaning(nil)(t.Context()), tt.want)
	}
}

// An installation has one follow-up workflow, and any worker may start it.
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
		{name: "running", answer: already, found: "FollowUp"},
		{name: "an event has its id", answer: already, found: "NotifyEvent", want: taken},
		{name: "Temporal out of reach", answer: down, want: down},
	} {
		server, launcher := withServer(t)
		its := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == "herald-follow-up" && o.TaskQueue == "herald-events"
		})
		server.On("ExecuteWorkflow", mock.Anything, its, mock.MatchedBy(func(func(workflow.Context) error) bool { return true })).Return(nil,
			tt.answer).Once()
		if tt.found != "" {
			server.On("DescribeWorkflow", mock.Anything, "herald-follow-up", "").Return(described(tt.found, "herald-events"), nil).Once()
		}

		err := launcher.StartFollowUp(t.Context())
		if tt.want == nil {
			require.NoError(t, err, tt.name)
		} else {
			require.ErrorContains(t, err, tt.want.Error(), tt.name)
		}
	}
}

// SettleEscalation returns no error if no escalation waits.
func TestSettleEscalation(t *testing.T) {
	t.Parallel()

	down := serviceerror.NewUnavailable("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {serviceerror.NewNotFound("workflow not found"), nil}, {down, down}} {
		server, launcher := withServer(t)
		server.On("SignalWorkflow", mock.Anything, "evt-1-customer42-SMS-escalation", "", "settled", nil).Return(tt.answer).Once()

		require.ErrorIs(t, launcher.SettleEscalation(t.Context(), "evt-1-customer42-SMS"), tt.want)
	}
}

func TestStartPoller(t *testing.T) {
	t.Parallel()

	paused := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	tests := []struct {
		source string
		answer error
		anew   bool
		id     string
		policy enums.WorkflowIdConflictPolicy
	}{
		{source: "herald", id: "herald-outbox-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "herald", answer: errors.New("no connection"), id: "herald-outbox-poller-2",
			policy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING},
		{source: "orders", anew: true, id: "herald-orders-poller-2", policy: enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING},
	}
	for _, tt := range tests {
		server, launcher := withServer(t)
		in := workflows.PollInput{Source: tt.source, PausedSince: paused}
		running := mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
			return o.ID == tt.id && o.TaskQueue == "herald-events" &&
				o.WorkflowIDConflictPolicy == tt.policy
		})
		server.On("ExecuteWorkflow", mock.Anything, running, mock.MatchedBy(isPollOutbox), in).Return(nil,
			tt.answer).Once()

		require.ErrorIs(t, launcher.StartPoller(t.Context(), 2, in, tt.anew), tt.answer)
	}
}

// withServer returns a launcher, and a mock of its Temporal.
func withServer(t *testing.T) (*mocks.Client, *launch.Launcher) {
	server := mocks.NewClient(t)
	return server, &launch.Launcher{Client: server, Prefix: "herald", Sources: sources}
}

var (
	restaurant = notification.Entity{Type: "RESTAURANT", ID: "5"}
	policy     = activities.DeliveryPolicy{
		TaskQueue:     "herald-email",
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 30 * time.Second, Coefficient: 2, Timeout: 10 * time.Second},
	}
)

// described returns Temporal's description of a workflow of this type on this task queue.
func described(workflowType, queue string) *client.WorkflowExecutionDescription {
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Type: &commonpb.WorkflowType{Name: workflowType}},
		ExecutionConfig:       &workflowpb.WorkflowExecutionConfig{TaskQueue: &taskqueuepb.TaskQueue{Name: queue}},
	}}
}

// Functions cannot be compared. Each workflow function has a different type, so the matchers below
// compare types.
func isNotifyEvent(func(workflow.Context, workflows.NotifyInput) (workflows.NotifyResult, error)) bool {
	return true
}

func isPollOutbox(func(workflow.Context, workflows.PollInput) error) bool { return true }

func isDigest(func(workflow.Context, workflows.DigestInput) (workflows.DigestResult, error)) bool {
	return true
}

func isDeliverNotification(func(workflow.Context, workflows.DeliverInput) (workflows.DeliverResult, error)) bool {
	return true
}
