package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// What was lost for good is ended one by one, also where the broker is down for
// a while.
func TestSweep(t *testing.T) {
	t.Parallel()

	lost := []activities.GiveUpInput{
		{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, Status: notification.Failed, Reason: "started again 3 times in vain"},
		{DeliveryID: "evt-1-staff11-SLACK", Channel: notification.Slack, Status: notification.Failed, Reason: "started again 3 times in vain"},
	}
	found := notification.Sweep{Looked: 12, StartedAgain: 1, Failed: 2}
	for _, givenUp := range [][]activities.GiveUpInput{nil, lost} {
		env := newEnv(t)
		env.OnActivity(acts.Sweep, mock.Anything).Return(activities.SweepResult{Sweep: found, GiveUp: givenUp}, nil).Once()
		for _, each := range givenUp {
			env.OnActivity(acts.GiveUp, mock.Anything, each).Return(notification.Status(""), temporal.NewApplicationError("no broker", "Busy")).Once()
			env.OnActivity(acts.GiveUp, mock.Anything, each).Return(notification.Failed, nil).Once()
		}

		env.ExecuteWorkflow(workflows.Sweep)

		env.requireFailure(t, "")
		var result notification.Sweep
		require.NoError(t, env.GetWorkflowResult(&result))
		require.Equal(t, found, result)
	}
}

// A row that is gone keeps the others from nothing.
func TestSweepOfARowThatIsGone(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	first, second := activities.GiveUpInput{DeliveryID: "d1"}, activities.GiveUpInput{DeliveryID: "d2"}
	env.OnActivity(acts.Sweep, mock.Anything).Return(activities.SweepResult{GiveUp: []activities.GiveUpInput{first, second}}, nil).Once()
	env.OnActivity(acts.GiveUp, mock.Anything, first).Return(notification.Status(""), temporal.NewNonRetryableApplicationError("no such row", activities.NoSuchRow, nil)).Once()
	env.OnActivity(acts.GiveUp, mock.Anything, second).Return(notification.Failed, nil).Once()

	env.ExecuteWorkflow(workflows.Sweep)

	env.requireFailure(t, activities.NoSuchRow)
}
