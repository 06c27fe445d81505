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
	first, second := notification.FailedDelivery{Delivery: d[0], Reason: "sendgrid refused: 400"},
		notification.FailedDelivery{Delivery: d[1], Reason: "too large"}
	in := activities.ClaimFailedInput{Part: partOf(mails, 1)}
	env.OnActivity(acts.ClaimFailed, mock.Anything, in).Return(activities.ClaimFailedResult{
		Failed: []notification.FailedDelivery{first}, Next: 5,
	}, nil).Once()
	in.IDs.First = 5
	env.OnActivity(acts.ClaimFailed, mock.Anything, in).Return(activities.ClaimFailedResult{Failed: []notification.FailedDelivery{second}},
		nil).Once()

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Sent: 97, Failed: 3}, resultOf[workflows.BatchResult](t, env))
	var want []workflows.DeliverInput
	for _, f := range []notification.FailedDelivery{first, second} {
		want = append(want, workflows.DeliverInput{DeliveryID: f.DeliveryID, Channel: f.Channel, Policy: policy(f.Channel), Failed: f.Reason})
	}
	require.ElementsMatch(t, want, env.deliveries.started)
	require.ElementsMatch(t, []any{"RESTAURANT_USER/1", "RESTAURANT_USER/2"},
		[]any{env.deliveries.found[0]["HeraldRecipient"], env.deliveries.found[1]["HeraldRecipient"]})
}

// The workflow of a delivery that failed in a batch only ends: like the workflow of a delivery that
// failed outside a batch.
func TestDeliverNotificationThatFailedInABatch(t *testing.T) {
	t.Parallel()

	for channel, failure := range map[notification.Channel]string{notification.Email: workflows.DeliveryFailed, notification.Slack: ""} {
		env := newEnv(t)
		env.ExecuteWorkflow(workflows.DeliverNotification,
			workflows.DeliverInput{DeliveryID: "evt-1-staff1-EMAIL", Channel: channel, Policy: local(channel), Failed: "refused: 400"})
		env.requireFailure(t, failure)
		env.requireOutcome(t, "FAILED")
	}
}

// After an execution that ended early, the batch starts another execution. Each delivery that
// failed temporarily or crashed gets a separate workflow, which waits for the next attempt.
func TestDeliverBatchStartsWorkflowsForRemainingDeliveries(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.sendsBatch(
		activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 50}, More: true},
		activities.SendBatchResult{BatchProgress: activities.BatchProgress{Sent: 47}, HasRemaining: true},
	)
	env.claims()
	env.findsLeft(0, notification.IDRange{First: 1, Last: 70})
	env.findsLeft(70, notification.IDRange{First: 71, Last: 90})
	env.findsLeft(90, notification.IDRange{})

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	require.Equal(t, workflows.BatchResult{Sent: 97, Pages: 2}, resultOf[workflows.BatchResult](t, env))
	var want []workflows.PageInput
	for _, ids := range []notification.IDRange{{First: 1, Last: 70}, {First: 71, Last: 90}} {
		page := pageInput(1)
		page.Lane, page.IDs, page.Pending = mails, ids, true
		want = append(want, page)
	}
	require.ElementsMatch(t, want, env.pages.started)
	require.ElementsMatch(t, []string{"evt-1-batch-EMAIL-1-page-1", "evt-1-batch-EMAIL-1-page-2"}, env.pages.ids)
}

// findsLeft expects that a batch reads the next deliveries that have left it, after an id.
func (e *environment) findsLeft(after int64, found notification.IDRange) {
	in := activities.NextInput{EventID: eventID, Lane: mails, After: after, Last: stored(1).Last, Pending: true}
	e.OnActivity(acts.NextDeliveries, mock.Anything, in).Return(activities.NextResult{IDRange: found}, nil).Once()
}

// After an outage, thousands of deliveries leave the batch. The batch has four pages open that send. When
// all pages only wait, the batch only waits, too.
func TestDeliverBatchLimitsItsPages(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.pages.end = func(ctx workflow.Context, in workflows.PageInput) error {
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return err
		}
		tellWaiting(ctx)
		return workflow.Sleep(ctx, time.Hour)
	}
	env.sendsBatch(activities.SendBatchResult{HasRemaining: true})
	env.claims()
	for i := range int64(6) {
		env.findsLeft(10*i, notification.IDRange{First: 10*i + 1, Last: 10*i + 10})
	}
	env.findsLeft(60, notification.IDRange{})
	told := env.runsAsChild(realBatch, batchInput(1))

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, env.pages.started, 6)
	require.Len(t, told, 1)
	require.GreaterOrEqual(t, told[0], 2*time.Minute)
	require.Less(t, told[0], time.Hour)
}

// runsAsChild runs a workflow as a child, and returns the times from the start at which it told its parent
// that it only waits.
func (e *environment) runsAsChild(child string, in any) (told []time.Duration) {
	start := e.Now()
	e.ExecuteWorkflow(func(ctx workflow.Context) error {
		run := workflow.ExecuteChildWorkflow(workflow.WithWorkflowID(ctx, "its id"), child, in)
		signals := workflow.GetSignalChannel(ctx, "waiting")
		workflow.Go(ctx, func(ctx workflow.Context) {
			for id := ""; signals.Receive(ctx, &id); {
				if id != "its id" {
					panic("told by another child")
				}
				told = append(told, workflow.Now(ctx).Sub(start))
			}
		})
		return run.Get(ctx, nil)
	})
	return told
}

// If the database could not record sent messages, the batch records them before it sends anything
// else.
func TestDeliverBatchRecordsBeforeItContinues(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	unrecorded := []notification.AttemptResult{{DeliveryID: "evt-1-staff1-EMAIL", Number: 1, Outcome: notification.OutcomeSent}}
	recorded := time.Time{}
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{
		BatchProgress: activities.BatchProgress{Sent: 1}, More: true, Unrecorded: unrecorded,
	}, nil).Once()
	in := activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(panicky.err).Times(3)
	env.OnActivity(acts.RecordBatch, mock.Anything, in).Return(nil).Once().Run(func(mock.Arguments) { recorded = env.Now() })
	env.OnActivity(acts.SendBatch, mock.Anything, sendBatchInput).Return(activities.SendBatchResult{
		BatchProgress: activities.BatchProgress{Sent: 99},
	}, nil).Once().Run(func(mock.Arguments) {
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
	env.OnActivity(acts.RecordBatch, mock.Anything, mock.Anything).Return(panicky.err).Once().Run(func(mock.Arguments) {
		env.CancelWorkflow()
	})
	env.OnActivity(acts.RecordBatch, mock.Anything,
		activities.RecordBatchInput{Channel: notification.Email, Results: unrecorded}).Return(nil).Once()
	env.cancelsUnsent(partOf(mails, 1))

	env.ExecuteWorkflow(workflows.DeliverBatch, batchInput(1))

	env.requireStopped(t)
	require.Empty(t, env.deliveries.started)
}
