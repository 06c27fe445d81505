package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// sendBatchInput is what the activity of the first batch is told.
var sendBatchInput = activities.SendBatchInput{
	EventID: eventID, Channel: notification.Email, IDs: stored(1), Number: 1, AttemptPolicy: policy(notification.Email).AttemptPolicy,
}

// sendsBatch answers the executions of a batch's activity one after another, each after a
// second.
func (e *environment) sendsBatch(answers ...activities.SendBatchResult) {
	for _, answer := range answers {
		e.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).After(time.Second).Return(answer, nil).Once()
	}
}

// listsOfBatch expects a look at the deliveries of the batch.
func (e *environment) listsOfBatch(left bool, b activities.DeliveryBatch) {
	in := activities.ListInput{EventID: eventID, IDs: stored(1), Channel: notification.Email, Left: left, Failed: !left}
	e.OnActivity(acts.ListDeliveries, mock.Anything, in).Return(b, nil).Once()
}

func (e *environment) requireBatch(t *testing.T, want workflows.BatchResult) {
	t.Helper()
	require.NoError(t, e.GetWorkflowError())
	var got workflows.BatchResult
	require.NoError(t, e.GetWorkflowResult(&got))
	require.Equal(t, want, got)
}

func progress(sent, failed int, later map[string]time.Time) activities.BatchProgress {
	return activities.BatchProgress{Sent: sent, Failed: failed, Later: later}
}

func TestDeliverBatch(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	env.sendsBatch(activities.SendBatchResult{BatchProgress: progress(98, 2, nil)})

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireBatch(t, workflows.BatchResult{Sent: 98, Failed: 2})
	require.Empty(t, env.deliveries.started)
}

// An execution that ended early is followed by another, and what failed for now in any of
// them has a workflow of its own, which waits for its next attempt. So has what crashed.
func TestDeliverBatchHandsOnWhatIsLeft(t *testing.T) {
	t.Parallel()

	env, left := newPageEnv(t), batch(3)
	start := env.Now().UTC().Truncate(time.Millisecond)
	first, second := start.Add(30*time.Second), start.Add(time.Hour)
	env.sendsBatch(
		activities.SendBatchResult{BatchProgress: progress(50, 0, map[string]time.Time{left.Deliveries[0].DeliveryID: first}), More: true},
		activities.SendBatchResult{BatchProgress: progress(47, 0, map[string]time.Time{left.Deliveries[1].DeliveryID: second}), Left: true},
	)
	env.listsOfBatch(true, left)

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireBatch(t, workflows.BatchResult{Sent: 97, Alone: 3})
	want := inputs(left)
	want[0].Next, want[1].Next = first, second
	require.ElementsMatch(t, want, env.deliveries.started)
	require.Equal(t, "herald-email", env.deliveries.queues[0])
}

// Deliveries whose next attempt is due later do not hold up those that are due.
func TestDeliverBatchWaitsForAll(t *testing.T) {
	t.Parallel()

	env, left, later := newPageEnv(t), batch(300), map[string]time.Time{}
	for _, d := range left.Deliveries[:150] {
		later[d.DeliveryID] = env.Now().Add(time.Hour)
	}
	env.deliveries.end = takes[workflows.DeliverInput](time.Minute)
	env.sendsBatch(activities.SendBatchResult{BatchProgress: progress(0, 0, later), Left: true})
	env.listsOfBatch(true, left)

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireBatch(t, workflows.BatchResult{Alone: 300})
	require.Equal(t, 250, env.deliveries.mostOpen)
}

// What the provider has taken and the database has not is recorded before anything else is
// sent.
func TestDeliverBatchRecordsBeforeItGoesOn(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	unrecorded := []notification.AttemptResult{{DeliveryID: "evt-1-staff1-EMAIL", Number: 1, Outcome: notification.OutcomeSent}}
	recorded := time.Time{}
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{BatchProgress: progress(1, 0, nil), More: true, Unrecorded: unrecorded}, nil).Once()
	in := activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(errors.New("database out of reach")).Times(3)
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(nil).Once().Run(func(mock.Arguments) { recorded = env.Now() })
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{BatchProgress: progress(99, 0, nil)}, nil).Once().Run(func(mock.Arguments) {
		require.False(t, recorded.IsZero())
	})

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireBatch(t, workflows.BatchResult{Sent: 100})
}

// An event that is started again repeats what FAILED, as it was before the batch is sent.
func TestDeliverBatchRepeatsWhatFailed(t *testing.T) {
	t.Parallel()

	env, in := newPageEnv(t), batchInput(1)
	in.Failed = true
	env.listsOfBatch(false, batch(2))
	env.sendsBatch(activities.SendBatchResult{BatchProgress: progress(0, 98, nil)})

	env.ExecuteWorkflow(workflows.DeliverBatch, in)

	env.requireBatch(t, workflows.BatchResult{Failed: 98, Alone: 2})
	require.Equal(t, inputs(batch(2)), env.deliveries.started)
}

// A cancelled batch sends nothing more, and records all that was sent. That it waits for
// its activity, which this environment does not do, is in the recorded histories.
func TestDeliverBatchCancelled(t *testing.T) {
	t.Parallel()

	unrecorded := []notification.AttemptResult{{DeliveryID: "evt-1-staff1-EMAIL", Number: 1, Outcome: notification.OutcomeSent}}
	env := newPageEnv(t)
	env.sendsBatch(activities.SendBatchResult{BatchProgress: progress(1, 0, nil), More: true, Unrecorded: unrecorded})
	env.OnActivity(acts.RecordBatch, mock.Anything, mock.Anything).Return(func(context.Context, activities.RecordBatchInput) error {
		env.CancelWorkflow()
		return errors.New("database out of reach")
	}).Once()
	env.OnActivity(acts.RecordBatch, mock.Anything, activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}).Return(nil).Once()

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireStopped(t)
	require.Empty(t, env.deliveries.started)
}

// The workflows of what has left the batch are cancelled with it.
func TestDeliverBatchCancelledAfterwards(t *testing.T) {
	t.Parallel()

	env := newPageEnv(t)
	env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
	env.sendsBatch(activities.SendBatchResult{BatchProgress: progress(98, 0, nil), Left: true})
	env.listsOfBatch(true, batch(2))
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireStopped(t)
	require.Equal(t, 2, env.deliveries.cancelled)
}
