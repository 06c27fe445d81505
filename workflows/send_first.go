package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// unknownDelay is the time until the second attempt, if neither the first failure nor the policy
// sets a time. It is Temporal's default.
const unknownDelay = time.Second

// sendFirst makes the first attempt as a local activity, which costs Temporal a third less than a
// normal activity. If the delivery waits, the attempt only reads its row. If it sends nothing, [send]
// sends the message: at once if the worker had too many sends in flight, and after the usual wait if
// the attempt failed temporarily.
//
// Temporal does not wait for a cancelled local activity whose call is in flight. So sendFirst hides
// a cancellation from the activity, and the delivery ends after the attempt. A lost task may have sent
// the message: if a signal arrives during a task that ends the workflow, Temporal refuses the end and
// repeats the task.
func sendFirst(ctx workflow.Context, in DeliverInput) (activities.SendResult, *order, error) {
	var result activities.SendResult
	if ctx.Err() != nil {
		return result, nil, ctx.Err()
	}
	whole, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	whole = workflow.WithLocalActivityOptions(whole, firstOptions(in))
	ordered, err := heed(ctx, workflow.ExecuteLocalActivity(whole, acts.SendFirst, sendInput(in)), func() {}, &result)
	switch {
	case err != nil && activities.IsPermanent(err):
		return result, nil, err
	case result.Unrecorded != nil:
		return result, nil, record(ctx, acts.RecordSent, *result.Unrecorded, nil)
	case err != nil:
		at := workflow.Now(ctx).Add(nextDelay(err, in.Policy))
		result = activities.SendResult{
			Status: notification.Pending, NotBefore: at, Wait: notification.InstantText(at) + ": " + notification.WaitRetry,
		}
	}
	return result, ordered.unlessEnded(result), nil
}

// firstOptions allows one attempt: the workflow itself waits before the next attempt.
func firstOptions(in DeliverInput) workflow.LocalActivityOptions {
	return firstTry(in.Policy.Timeout+activities.AttemptOverhead, sendSummary(in))
}

// nextDelay returns the time from a failure to the next attempt, as in Temporal's retries.
func nextDelay(err error, policy activities.DeliveryPolicy) time.Duration {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok && failure.NextRetryDelay() > 0 {
		return failure.NextRetryDelay()
	}
	return cmp.Or(policy.FirstRetry, unknownDelay)
}
