package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/postgres"
)

// flaky is a database that goes away.
type flaky struct {
	*postgres.Store
	mu         sync.Mutex
	begins     int // that still work
	endsFail   bool
	unrecorded []notification.AttemptResult
}

var errAway = errors.New("database out of reach")

func (f *flaky) BeginAttempts(ctx context.Context, in notification.Begin) ([]notification.Attempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.begins--; f.begins < 0 {
		return nil, errAway
	}
	return f.Store.BeginAttempts(ctx, in)
}

func (f *flaky) EndAttempts(ctx context.Context, results []notification.AttemptResult) ([]notification.RecordedAttempt, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.endsFail {
		f.unrecorded = append(f.unrecorded, results...)
		return nil, errAway
	}
	return f.Store.EndAttempts(ctx, results)
}

// What was sent and could not be recorded is returned, without tokens; nothing more is begun,
// and once it is recorded the rest goes on.
func TestSendBatchUnrecorded(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: withBatch(t, 100), begins: 1000, endsFail: true}
	over := &mails{}
	a := batchActivities(db, over)
	in := batchIn(t, db.Store)

	got, err := run[activities.SendBatchResult](a, a.SendBatch, in)

	require.NoError(t, err)
	require.True(t, got.More)
	require.Len(t, got.Unrecorded, over.calls())
	require.LessOrEqual(t, over.calls(), inGroup)
	for _, result := range got.Unrecorded {
		require.Empty(t, result.DeadDevices)
		require.NotContains(t, fmt.Sprintf("%+v", result), "example.com")
	}

	db.endsFail = false
	_, err = run[any](a, a.RecordBatch, activities.RecordBatchInput{Channel: notification.Email, Results: got.Unrecorded})
	require.NoError(t, err)
	rest, err := run[activities.SendBatchResult](a, a.SendBatch, in)
	require.NoError(t, err)
	require.Equal(t, 100, got.Sent+rest.Sent)
	require.ElementsMatch(t, ids(100), over.sent)
	require.Equal(t, map[string]int{"SENT": 100}, deliveriesBy(t, db.Store, "status"))
}

// Where attempts cannot be begun, the activity fails with all recorded that was sent, and
// Temporal repeats it.
func TestSendBatchWithoutADatabase(t *testing.T) {
	t.Parallel()

	db := &flaky{Store: withBatch(t, 100), begins: 1}
	over := failing(map[string]error{"d-1": providerError(notification.Busy, 429, 0)})
	a := batchActivities(db, over)

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(a)
	var told activities.BatchProgress // to the next execution
	env.SetOnActivityHeartbeatListener(func(_ *activity.Info, details converter.EncodedValues) { require.NoError(t, details.Get(&told)) })

	_, err := env.ExecuteActivity(a.SendBatch, batchIn(t, db.Store))

	require.ErrorContains(t, err, errAway.Error())
	require.Equal(t, inGroup-1, told.Sent)
	require.Equal(t, 1, told.Retried)
	var failed *temporal.ApplicationError
	require.ErrorAs(t, err, &failed)
	require.False(t, failed.NonRetryable())
	require.Equal(t, inGroup, over.calls())
	require.Equal(t, map[string]int{"SENT": inGroup - 1, "PENDING": 101 - inGroup}, deliveriesBy(t, db.Store, "status"))
}
