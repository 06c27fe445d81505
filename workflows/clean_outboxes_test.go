package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/workflows"
)

// An outbox that is out of reach is tried some times, and the others are cleaned meanwhile.
func TestCleanOutboxes(t *testing.T) {
	t.Parallel()

	orders := activities.CleanOutboxInput{Source: "orders", Retention: time.Hour}
	herald := activities.CleanOutboxInput{Source: "herald", Retention: 2 * time.Hour}
	for _, ordersDown := range []bool{false, true} {
		env := newEnv(t)
		want := ""
		if ordersDown {
			want = "Down"
			env.OnActivity(acts.CleanOutbox, mock.Anything, orders).Return(activities.CleanOutboxResult{}, temporal.NewApplicationError("no connection", "Down")).Times(5)
		} else {
			env.OnActivity(acts.CleanOutbox, mock.Anything, orders).Return(activities.CleanOutboxResult{Source: "orders", Deleted: 7, More: true}, nil).Once()
		}
		env.OnActivity(acts.CleanOutbox, mock.Anything, herald).Return(activities.CleanOutboxResult{Source: "herald", Deleted: 3}, nil).Once()

		env.ExecuteWorkflow(workflows.CleanOutboxes, workflows.CleanInput{Outboxes: []activities.CleanOutboxInput{orders, herald}})

		env.requireFailure(t, want)
		env.AssertExpectations(t)
		if !ordersDown {
			var result workflows.CleanResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, []activities.CleanOutboxResult{{Source: "orders", Deleted: 7, More: true}, {Source: "herald", Deleted: 3}}, result.Outboxes)
		}
	}
}
