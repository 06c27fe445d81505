package activities_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"herald/activities"
	"herald/internal/postgres/postgrestest"
)

// The failure of an activity, with all its causes, quotes no value of a row.
func TestFailuresQuoteNoValue(t *testing.T) {
	t.Parallel()

	store := postgrestest.New(t)
	exec(t, store, `INSERT INTO recipient (user_type, user_id, name) VALUES ('ADMIN', 'ada@example.com', 'Ada')`)
	tests := []struct {
		name, sql string
		args      []any
		want      string
	}{
		{name: "constraint", sql: `INSERT INTO recipient (user_type, user_id, name) VALUES ('ADMIN', 'ada@example.com', 'Ada')`, want: "do it: SQLSTATE 23505"},
		{name: "cast", sql: `SELECT 'ada@example.com'::text::int`, want: "do it: SQLSTATE 22P02"},
		{name: "argument", sql: `SELECT $1::int`, args: []any{struct{ Mail string }{"ada@example.com"}}, want: "do it: a value has another type than expected"},
		{name: "result", sql: `SELECT 'ada@example.com'::text`, want: "do it: a value has another type than expected"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{activities.WithoutValues()}})
			act := func(ctx context.Context) error {
				var n int
				return fmt.Errorf("do it: %w", store.Pool.QueryRow(ctx, tt.sql, tt.args...).Scan(&n))
			}
			env.RegisterActivity(act)
			_, err := env.ExecuteActivity(act)

			var failure *temporal.ApplicationError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, tt.want, failure.Message())
			require.Equal(t, activities.DatabaseFailed, failure.Type())
			require.False(t, failure.NonRetryable())
			written := temporal.GetDefaultFailureConverter().ErrorToFailure(err)
			require.NotContains(t, written.String(), "ada@")
		})
	}
}
