package launch_test

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
	"herald/internal/launch"
	"herald/workflows"
)

// One schedule an installation, which knows the settings of the worker that started last.
// What an operator has paused stays so.
func TestScheduleCleaning(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	outboxes := []activities.CleanOutboxInput{{Source: "orders", Retention: time.Hour}}
	for _, tt := range []struct {
		name           string
		create, update error
		updated        bool
		want           error
	}{
		{name: "there is none"},
		{name: "there is one", create: temporal.ErrScheduleAlreadyRunning, updated: true},
		{name: "there is one, and Temporal is away then", create: temporal.ErrScheduleAlreadyRunning, updated: true, update: down, want: down},
		{name: "Temporal is away", create: down, want: down},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			server, schedules, handle := mocks.NewClient(t), mocks.NewScheduleClient(t), mocks.NewScheduleHandle(t)
			server.On("ScheduleClient").Return(schedules)
			schedules.On("GetHandle", mock.Anything, "herald-cleaning").Return(handle)
			created := mock.MatchedBy(func(o client.ScheduleOptions) bool {
				action, ok := o.Action.(*client.ScheduleWorkflowAction)
				return ok && o.ID == "herald-cleaning" && action.ID == "herald-cleaning" && action.TaskQueue == "herald-events" &&
					o.Overlap == enums.SCHEDULE_OVERLAP_POLICY_SKIP && o.Spec.Intervals[0].Every == time.Hour
			})
			schedules.On("Create", mock.Anything, created).Return(nil, tt.create).Once()
			if tt.updated {
				handle.On("Update", mock.Anything, mock.MatchedBy(func(o client.ScheduleUpdateOptions) bool {
					paused := &client.ScheduleState{Paused: true}
					changed, err := o.DoUpdate(client.ScheduleUpdateInput{Description: client.ScheduleDescription{Schedule: client.Schedule{State: paused}}})
					action, ok := changed.Schedule.Action.(*client.ScheduleWorkflowAction)
					return err == nil && ok && changed.Schedule.State == paused && action.Args[0].(workflows.CleanInput).Outboxes[0].Source == "orders"
				})).Return(tt.update).Once()
			}
			launcher := launch.Launcher{Client: server, Prefix: "herald"}

			require.ErrorIs(t, launcher.ScheduleCleaning(t.Context(), outboxes), tt.want)
		})
	}
}

// Without a setting there is none.
func TestUnscheduleCleaning(t *testing.T) {
	t.Parallel()

	down := errors.New("no connection")
	for _, tt := range []struct{ answer, want error }{{nil, nil}, {serviceerror.NewNotFound("no schedule"), nil}, {down, down}} {
		server, schedules, handle := mocks.NewClient(t), mocks.NewScheduleClient(t), mocks.NewScheduleHandle(t)
		server.On("ScheduleClient").Return(schedules)
		schedules.On("GetHandle", mock.Anything, "herald-cleaning").Return(handle)
		handle.On("Delete", mock.Anything).Return(tt.answer).Once()
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		require.ErrorIs(t, launcher.ScheduleCleaning(t.Context(), nil), tt.want)
	}
}
