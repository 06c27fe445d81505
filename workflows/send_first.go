package workflows

import (
	"cmp"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// unknownDelay is the time to the second attempt where neither the failure of the first nor
// the policy says it: Temporal's own default.
const unknownDelay = time.Second

// sendFirst makes the first attempt as a local activity, which costs Temporal a third less
// than a separate activity. What it could not send is sent by [send]: at once, if the
// worker had too many of these under way, and after the usual wait, if the attempt failed
// for now.
//
// A local activity that is cancelled is given up while its call is under way, so this one is
// not: the delivery ends after it. An operator's order that has come before is obeyed first,
// unless the message was sent: Temporal refuses the end of a workflow that has been signalled
// meanwhile, and the task in which it was sent is lost.
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
	case err != nil && permanent(err):
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

// firstOptions have one attempt: the workflow itself waits for the next one.
func firstOptions(in DeliverInput) workflow.LocalActivityOptions {
	return firstTry(in.Policy.Timeout+activities.AttemptOverhead, sendSummary(in))
}

// orderedBefore is the last wait that an operator ordered by now; nil: none did.
func orderedBefore(ctx workflow.Context) (ordered *wait) {
	selector := addControls(ctx, workflow.NewSelector(ctx), func(w wait) { ordered = &w })
	for selector.HasPending() {
		selector.Select(ctx)
	}
	return ordered
}

// nextDelay is the time from a failure to the next attempt, as Temporal's own retry has it.
func nextDelay(err error, policy activities.DeliveryPolicy) time.Duration {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) && failure.NextRetryDelay() > 0 {
		return failure.NextRetryDelay()
	}
	return cmp.Or(policy.FirstRetry, unknownDelay)
}
