package workflows_test

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// sends expects one call of Send per answer, and no further one.
func (e *environment) sends(in activities.SendInput, answers ...answer) {
	for _, a := range answers {
		e.OnActivity(acts.Send, mock.Anything, in).Return(a.result, a.err).Once()
	}
}

// givesUp expects a call of GiveUp.
func (e *environment) givesUp(channel notification.Channel, status notification.Status, why string) *testsuite.MockCallWrapper {
	return e.OnActivity(acts.GiveUp, mock.Anything, activities.GiveUpInput{DeliveryID: deliveryID, Channel: channel, Status: status, Reason: why})
}

// requireEnd checks how a delivery ended: with a failure of this type, or with a
// result.
func (e *environment) requireEnd(t *testing.T, failure string, want workflows.DeliverResult) {
	t.Helper()
	if failure == "" {
		e.requireDelivered(t, want)
		return
	}
	e.requireFailure(t, failure)
	require.ErrorContains(t, e.GetWorkflowError(), want.Reason)
	e.requireOutcome(t, outcome(want.Status))
}

// requireDelivered checks the result of a delivery that completed, and its outcome.
func (e *environment) requireDelivered(t *testing.T, want workflows.DeliverResult) {
	t.Helper()
	require.True(t, e.IsWorkflowCompleted())
	var got workflows.DeliverResult
	require.NoError(t, e.GetWorkflowResult(&got))
	require.Equal(t, want, got)
	e.requireOutcome(t, outcome(want.Status))
}

// outcome is the HeraldOutcome of a status.
func outcome(status notification.Status) string {
	if status == notification.Failed || status == notification.Cancelled {
		return string(status)
	}
	return ""
}
