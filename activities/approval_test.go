package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/template"
)

// An answer to an event whose row is gone, such as after Postgres lost it, ends with a clear error.
func TestAnswerApprovalOfALostEvent(t *testing.T) {
	t.Parallel()

	a := &activities.Activities{Planner: planner.New(planner.On(postgrestest.New(t)), template.Engine{})}

	_, err := execute[notification.ApprovalAnswer](newEnv(a), a.AnswerApproval, activities.AnswerApprovalInput{EventID: "evt-1", Approved: true})

	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, activities.NoSuchRow, failed.Type())
	require.True(t, failed.NonRetryable())
}
