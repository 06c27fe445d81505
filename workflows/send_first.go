package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// unknownDelay is the time until the second attempt, if neither the first failure nor the policy
// sets a time. It is Temporal's default.
const unknownDelay = time.Second

// sendFirst makes the first attempt as a local activity, which costs Temporal a third less than a
// normal activity. If it sends nothing, [send] sends the message: at once if the worker had too
// many sends in flight, and after the usual wait if the attempt failed temporarily.
//
// Temporal does not wait for a cancelled local activity whose call is in flight. So sendFirst hides
// a cancellation from the activity, and the delivery ends after the attempt. If an operator's order
// came before, sendFirst obeys it, unless the message was sent. A lost task may have sent the
// message: if a signal arrives during a task that ends the workflow, Temporal refuses the end and
// repeats the task.
func sendFirst(ctx workflow.Context, in DeliverInput, attemptsBefore int, skipQuiet bool) (activities.SendResult, *wait, error) {
	var result activities.SendResult
	before := orderedBefore(ctx)
	if ctx.Err() != nil {
		return result, nil, ctx.Err()
	}
	input := sendInput(in, attemptsBefore, skipQuiet)
	input.StatusOnly = before != nil
	whole, release := workflow.NewDisconnectedContext(ctx)
	defer release()
	whole = workflow.WithLocalActivityOptions(whole, firstOptions(in))
	ordered, err := heed(ctx, workflow.ExecuteLocalActivity(whole, acts.SendFirst, input), func() {}, &result)
	ordered = cmp.Or(ordered, before)
	switch {
	case err != nil && activities.IsPermanent(err):
		return result, nil, err
	case result.Unrecorded != nil:
		return result, nil, record(ctx, acts.RecordSent, *result.Unrecorded, nil)
	case ordered != nil:
	case err != nil:
		next := untilNext(workflow.Now(ctx).Add(nextDelay(err, in.Policy)))
		ordered = &next
	case result.NotSent:
		ordered = &wait{}
	}
	return result, ordered, nil
}

// firstOptions allows one attempt: the workflow itself waits before the next attempt.
func firstOptions(in DeliverInput) workflow.LocalActivityOptions {
	return firstTry(in.Policy.Timeout+activities.AttemptOverhead, sendSummary(in))
}

// orderedBefore returns the last pending order of an operator, as a wait; nil: none.
func orderedBefore(ctx workflow.Context) (ordered *wait) {
	selector := addControls(ctx, workflow.NewSelector(ctx), func(w wait) { ordered = &w })
	for selector.HasPending() {
		selector.Select(ctx)
	}
	return ordered
}

// nextDelay returns the time from a failure to the next attempt, as in Temporal's retries.
func nextDelay(err error, policy activities.DeliveryPolicy) time.Duration {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok && failure.NextRetryDelay() > 0 {
		return failure.NextRetryDelay()
	}
	return cmp.Or(policy.FirstRetry, unknownDelay)
}
