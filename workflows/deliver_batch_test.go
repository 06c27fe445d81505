package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// sendBatchInput is the input of the first batch's activity.
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

// claims expects that the batch claims failed deliveries, each for a workflow.
func (e *environment) claims(failed ...notification.FailedDelivery) {
	in := activities.ClaimFailedInput{Part: partOf(mails, 1)}
	e.OnActivity(acts.ClaimFailed, mock.Anything, in).Return(activities.ClaimFailedResult{Failed: failed}, nil).Once()
}

// A permanently failed delivery gets a workflow that fails, so that operators find it. If the
// delivery has a workflow already, the batch does not change that workflow.
func TestDeliverBatchShowsFailedDeliveries(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.deliveries.end = func(workflow.Context, workflows.DeliverInput) error {
		return temporal.NewApplicationError("sendgrid refused: 400", workflows.DeliveryFailed)
	}
	env.sendsBatch(activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 97, Failed: 3}})
	d := batch(2).Deliveries
	first, second := notification.FailedDelivery{Delivery: d[0], Reason: "sendgrid refused: 400"}, notification.FailedDelivery{Delivery: d[1], Reason: "too large"}
	in := activities.ClaimFailedInput{Part: partOf(mails, 1)}
	env.OnActivity(acts.ClaimFailed, mock.Anything, in).Return(activities.ClaimFailedResult{Failed: []notification.FailedDelivery{first}, Next: 5}, nil).Once()
	in.IDs.First = 5
	env.OnActivity(acts.ClaimFailed, mock.Anything, in).Return(activities.ClaimFailedResult{Failed: []notification.FailedDelivery{second}}, nil).Once()

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Sent: 97, Failed: 3}, resultOf[workflows.BatchResult](t, env))
	var want []workflows.DeliverInput
	for _, f := range []notification.FailedDelivery{first, second} {
		want = append(want, workflows.DeliverInput{DeliveryID: f.DeliveryID, Channel: f.Channel, Policy: policy(f.Channel), Failed: f.Reason})
	}
	require.ElementsMatch(t, want, env.deliveries.started)
	require.ElementsMatch(t, []any{"RESTAURANT_USER/1", "RESTAURANT_USER/2"}, []any{env.deliveries.found[0]["HeraldRecipient"], env.deliveries.found[1]["HeraldRecipient"]})
}

// The workflow of a delivery that failed in a batch only ends: like the workflow of a delivery that
// failed outside a batch.
func TestDeliverNotificationThatFailedInABatch(t *testing.T) {
	t.Parallel()

	for channel, failure := range map[notification.Channel]string{notification.Email: workflows.DeliveryFailed, notification.Slack: ""} {
		env := newEnv(t)
		env.ExecuteWorkflow(workflows.DeliverNotification, workflows.DeliverInput{DeliveryID: "evt-1-staff1-EMAIL", Channel: channel, Policy: local(channel), Failed: "refused: 400"})
		env.requireFailure(t, failure)
		env.requireOutcome(t, "FAILED")
	}
}

// After an execution that ended early, the batch starts another execution. Each delivery that
// failed temporarily or crashed gets a separate workflow, which waits for the next attempt.
func TestDeliverBatchStartsWorkflowsForRemainingDeliveries(t *testing.T) {
	t.Parallel()

	env, left := newEnv(t), batch(3)
	start := env.Now().UTC().Truncate(time.Millisecond)
	left.Deliveries[0].Next, left.Deliveries[1].Next = start.Add(30*time.Second), start.Add(time.Hour)
	env.sendsBatch(
		activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 50}, More: true},
		activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 47}, HasRemaining: true},
	)
	env.claims()
	env.listsStretch(1, true, left)

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Sent: 97, Alone: 3}, resultOf[workflows.BatchResult](t, env))
	require.ElementsMatch(t, inputs(left), env.deliveries.started)
	require.Equal(t, "herald-email", env.deliveries.queues[0])
}

// After an outage, thousands of deliveries leave the batch. The batch starts no more
// workflows than Temporal allows.
func TestDeliverBatchLimitsItsWorkflows(t *testing.T) {
	t.Parallel()

	env, left := newEnv(t), batch(600)
	env.deliveries.end = takes[workflows.DeliverInput](time.Minute)
	env.sendsBatch(activities.SendBatchResult{HasRemaining: true})
	env.claims()
	env.listsStretch(1, true, left)

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Alone: 600}, resultOf[workflows.BatchResult](t, env))
	require.Equal(t, 400, env.deliveries.mostOpen)
}

// If the database could not record sent messages, the batch records them before it sends anything
// else.
func TestDeliverBatchRecordsBeforeItContinues(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	unrecorded := []notification.AttemptResult{{DeliveryID: "evt-1-staff1-EMAIL", Number: 1, Outcome: notification.OutcomeSent}}
	recorded := time.Time{}
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1}, More: true, Unrecorded: unrecorded}, nil).Once()
	in := activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(panicky.err).Times(3)
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(nil).Once().Run(func(mock.Arguments) { recorded = env.Now() })
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 99}}, nil).Once().Run(func(mock.Arguments) {
		require.False(t, recorded.IsZero())
	})
	env.claims()

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Sent: 100}, resultOf[workflows.BatchResult](t, env))
}

// A cancelled batch sends nothing more, records the sent messages, and cancels the other
// deliveries. The recorded histories show that it waits for its activity; this environment does not
// wait.
func TestDeliverBatchCancelled(t *testing.T) {
	t.Parallel()

	unrecorded := []notification.AttemptResult{{DeliveryID: "evt-1-staff1-EMAIL", Number: 1, Outcome: notification.OutcomeSent}}
	env := newEnv(t)
	env.sendsBatch(activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 1}, More: true, Unrecorded: unrecorded})
	env.OnActivity(acts.RecordBatch, mock.Anything, mock.Anything).Return(panicky.err).Once().Run(func(mock.Arguments) { env.CancelWorkflow() })
	env.OnActivity(acts.RecordBatch, mock.Anything, activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}).Return(nil).Once()
	env.cancelsUnsent(partOf(mails, 1))

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireStopped(t)
	require.Empty(t, env.deliveries.started)
}
