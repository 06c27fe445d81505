package launch_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"

	"herald/internal/launch"
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
		launcher := launch.Launcher{Client: server, Prefix: "herald"}

		require.ErrorIs(t, launcher.ScheduleSweep(t.Context()), tt.want)
	}
}
