package workflows

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// DeliverInput is the input of [DeliverNotification]. It names one planned delivery. Everything else,
// also the time to send it, is in the delivery's row. The text and the address stay there, so
// Temporal's history does not contain them.
type DeliverInput struct {
	DeliveryID string
	Channel    notification.Channel
	Policy     activities.DeliveryPolicy `json:",omitzero"`  // a retry reads its policy again
	Retry      bool                      `json:",omitempty"` // a new run that an operator started
	Again      bool                      `json:",omitempty"` // send even if the delivery was sent, or its event is cancelled
	HoldsSlot  bool                      `json:",omitempty"` // the parent keeps a slot for the delivery until it hears of a wait
	Failed     string                    `json:",omitempty"` // the reason of a permanent failure in a batch: the workflow only shows it

	// Of a retry: its run sets them after it has reopened the row, and the sweep if that run was lost.
	Ordered        bool `json:",omitempty"` // the operator's order overrides preferences
	AttemptsBefore int  `json:",omitempty"` // of earlier runs
}

// DeliverResult is the result of [DeliverNotification].
type DeliverResult struct {
	Status notification.Status
	notification.SentBy
	Reason string `json:",omitempty"` // the reason why nothing was sent
}

// DeliveryFailed is the type of failure of a delivery on a retried channel.
const DeliveryFailed = "DeliveryFailed"

// recordOptions retries forever: losing an outcome is worse than waiting for it.
var (
	recordOptions     = eventOptions(20*time.Second, "record the outcome")
	rescheduleOptions = eventOptions(20*time.Second, "store the time that an operator orders")
	// awaited: it must not reopen the row after a cancellation was recorded
	reopenOptions = awaited(eventOptions(30*time.Second, "plan the delivery again"))
)

// DeliverNotification sends one delivery over one channel. It is a loop over the delivery's row: each
// attempt asks the row whether to send now, to wait, or to end. A signal of an operator changes the
// row. Temporal retries failed attempts.
//
// If the delivery fails, the workflow fails, so that operators find it and can run it again. On a
// best-effort channel it completes with status FAILED.
func DeliverNotification(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	if in.Failed != "" {
		return failedInBatch(ctx, in)
	}
	ctx = onRecordsQueue(ctx)
	result, err := deliver(ctx, in)
	switch {
	case err == nil && result.Status != notification.Pending:
		if result.Status == notification.Cancelled { // by an operator, before it was sent
			setOutcome(ctx, string(result.Status))
		}
		return result, nil
	case err == nil:
		return giveUp(ctx, in, notification.Cancelled, result.Reason)
	case ctx.Err() != nil:
		return cancelled(ctx, in)
	}
	result, recordErr := giveUp(ctx, in, notification.Failed, reason(err))
	if recordErr != nil || result.Status != notification.Failed || in.Channel.BestEffort() {
		return result, recordErr
	}
	return result, temporal.NewApplicationErrorWithCause(result.Reason, DeliveryFailed, err)
}

// failedInBatch ends a delivery that failed permanently in a batch. It ends like a delivery that
// failed in a separate workflow.
func failedInBatch(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	setOutcome(ctx, string(notification.Failed))
	result := DeliverResult{Status: notification.Failed, Reason: in.Failed}
	if in.Channel.BestEffort() {
		return result, nil
	}
	return result, temporal.NewApplicationError(in.Failed, DeliveryFailed)
}

// deliver sends and waits until nothing is left to do for the delivery. If the rules drop the delivery,
// its row is still PENDING: deliver returns this status with the reason, and the caller makes the
// delivery CANCELLED.
func deliver(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	attempt := send
	if in.Policy.Local {
		attempt = sendFirst
	}
	if in.Retry {
		reopened, err := reopen(ctx, in)
		if err != nil || reopened.Status != notification.Pending {
			return DeliverResult{Status: reopened.Status}, err
		}
		// A delivery that waits for its own time again is no order.
		in.Policy, in.AttemptsBefore, in.Ordered = reopened.Policy, reopened.AttemptsBefore, !reopened.Waits
	}
	var obeyed *order
	for ordered, pause := pendingOrder(ctx), minPause; ; {
		var step activities.SendResult
		var err error
		if ordered != nil {
			step, err = reschedule(ctx, in, *ordered)
			obeyed, ordered = ordered, nil
		} else {
			step, ordered, err = attempt(ctx, in)
			attempt = send
		}
		switch {
		case err != nil:
			return DeliverResult{}, err
		case step.InDigest:
			return deliverInDigest(ctx, in, cmp.Or(ordered, obeyed))
		case step.Dropped != "":
			return DeliverResult{Status: notification.Pending, Reason: step.Dropped}, nil
		case ordered != nil || step.NotSent:
		case step.NotBefore.IsZero():
			return DeliverResult{Status: step.Status, SentBy: step.SentBy}, nil
		default:
			until := pause.before(ctx, wait{step.NotBefore, step.Wait})
			if in.HoldsSlot && isLong(ctx, until.until) {
				tellParent(ctx)
				in.HoldsSlot = false
			}
			if ordered, err = until.run(ctx); err != nil {
				return DeliverResult{}, err
			}
		}
	}
}

// reschedule stores an operator's order in the delivery's row, and returns what the row says then.
func reschedule(ctx workflow.Context, in DeliverInput, ordered order) (activities.SendResult, error) {
	return execute[activities.SendResult](ctx, rescheduleOptions, acts.Reschedule,
		activities.RescheduleInput{DeliveryID: in.DeliveryID, Until: ordered.until})
}

// reopen plans the delivery again for a new run.
func reopen(ctx workflow.Context, in DeliverInput) (activities.ReopenResult, error) {
	return execute[activities.ReopenResult](ctx, reopenOptions, acts.ReopenDelivery,
		activities.ReopenInput{DeliveryID: in.DeliveryID, Again: in.Again})
}

// send runs the attempts. The activity counts them, because an attempt that died with its worker is
// not the provider's failure. If an operator orders another time meanwhile, and nothing was sent, send
// returns the order.
func send(ctx workflow.Context, in DeliverInput) (activities.SendResult, *order, error) {
	workflow.SetCurrentDetails(ctx, "sending; see Pending Activities for failed attempts and the time of the next attempt")
	options := sendOptions(ctx, in.Policy, sendSummary(in))
	var result activities.SendResult
	ordered, err := attempts(ctx, options, acts.Send, sendInput(in), &result)
	if err != nil || result.Unrecorded == nil {
		return result, ordered.unlessEnded(result), err
	}
	return result, nil, record(ctx, acts.RecordSent, *result.Unrecorded, nil)
}

func sendInput(in DeliverInput) activities.SendInput {
	return activities.SendInput{
		DeliveryID: in.DeliveryID, Channel: in.Channel, AttemptPolicy: in.Policy.AttemptPolicy,
		AttemptsBefore: in.AttemptsBefore, Ordered: in.Ordered, Again: in.Again,
	}
}

func sendSummary(in DeliverInput) string { return fmt.Sprintf("send by %s", in.Channel) }

// sendOptions returns the options of an activity that calls a channel's provider. The activity sets
// the growing delays itself. The delay here is for attempts that died with their worker. It does
// not grow, because Temporal also counts attempts that waited for a provider at rest.
func sendOptions(ctx workflow.Context, policy activities.DeliveryPolicy, summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           workflow.GetInfo(ctx).TaskQueueName,
		StartToCloseTimeout: policy.Timeout + activities.AttemptOverhead,
		WaitForCancellation: true, // the delivery ends only after the current attempt
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    policy.FirstRetry,
			BackoffCoefficient: 1,
		},
		Summary: summary,
	}
}

// cancelled ends a cancelled delivery. If the delivery was sent before, it completes as SENT. If an
// attempt at its digest is in flight, it waits for the result.
func cancelled(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	for {
		result, err := giveUp(ctx, in, notification.Cancelled, string(notification.CancelledInTemporal))
		switch {
		case err != nil:
			return result, err
		case result.Status == notification.Cancelled:
			return DeliverResult{Status: notification.Cancelled}, ctx.Err()
		case result.Status != notification.Pending:
			return result, nil
		}
		waitForAttempt(ctx)
	}
}

// record runs an activity that records an end, even if the workflow was cancelled.
func record(ctx workflow.Context, activity, input, result any) error {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, recordOptions), activity, input).Get(ctx, result)
}

// giveUp records the end of a delivery, even if the workflow was cancelled.
func giveUp(ctx workflow.Context, in DeliverInput, status notification.Status, why string) (DeliverResult, error) {
	result := DeliverResult{Reason: why}
	input := activities.GiveUpInput{DeliveryID: in.DeliveryID, Channel: in.Channel, Status: status, Reason: why}
	if err := record(ctx, acts.GiveUp, input, &result.Status); err != nil {
		return result, err
	}
	if result.Status == notification.Failed || result.Status == notification.Cancelled {
		setOutcome(ctx, string(result.Status))
	} else {
		result.Reason = ""
	}
	return result, nil
}

// reason returns the message of an activity's failure, or "no answer" if no attempt returned a
// failure.
func reason(err error) string {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failure.Message()
	}
	return "no answer"
}
