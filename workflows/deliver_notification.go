package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
)

// DeliverInput is the input of [DeliverNotification]. It names one planned
// delivery; its text and address stay in the database, so that neither ends up
// in Temporal's history.
type DeliverInput struct {
	DeliveryID     string
	Channel        notification.Channel
	SendAfter      time.Time `json:",omitzero"` // zero: at once
	Policy         activities.DeliveryPolicy
	AttemptsBefore int `json:",omitempty"` // of earlier runs of this delivery
}

// DeliverResult is the result of [DeliverNotification].
type DeliverResult struct {
	Status notification.Status
	Reason string `json:",omitempty"` // why it was not sent
}

// DeliveryFailed is the type of failure of a delivery on a retried channel.
const DeliveryFailed = "DeliveryFailed"

const (
	// sendOverhead is what an attempt takes beside the call to the provider:
	// three statements and their time-outs. Past it the worker is held to be
	// dead, and the attempt is repeated.
	sendOverhead = 20 * time.Second
	// maxRetryInterval caps the intervals that grow; a provider's own
	// Retry-After is clamped to the same.
	maxRetryInterval = 15 * time.Minute
)

// recordOptions never give up: to lose an outcome is worse than to wait for it.
var recordOptions = eventOptions(20*time.Second, "record the outcome")

// DeliverNotification makes one delivery over one channel. It waits for the
// time to send, if there is one, and sends; Temporal repeats failed attempts.
// On a channel that is retried a delivery that cannot be made fails the
// workflow, so that operators find it and can run it again; on a best-effort
// channel that is an ordinary result.
func DeliverNotification(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	result, err := deliver(ctx, in)
	switch {
	case err == nil && result.Status != notification.Pending:
		if result.Status == notification.Cancelled { // by an operator, before it was sent
			setOutcome(ctx, string(result.Status))
		}
		return result, nil
	case err == nil:
		return giveUp(ctx, in, notification.Cancelled, "quiet hours")
	case ctx.Err() != nil:
		if result, err := giveUp(ctx, in, notification.Cancelled, "cancelled"); err != nil || result.Status != notification.Cancelled {
			return result, err // it was sent before it could be cancelled
		}
		return DeliverResult{Status: notification.Cancelled}, ctx.Err()
	}
	result, recordErr := giveUp(ctx, in, notification.Failed, reason(err))
	if recordErr != nil || result.Status != notification.Failed || in.Channel.BestEffort() {
		return result, recordErr
	}
	return result, temporal.NewApplicationErrorWithCause(result.Reason, DeliveryFailed, err)
}

// deliver waits and sends until the delivery has ended. Status PENDING means
// that it must not be sent after all: the delay ended in quiet hours.
func deliver(ctx workflow.Context, in DeliverInput) (DeliverResult, error) {
	until, delayed := in.SendAfter, !in.SendAfter.IsZero() // a delay may have ended before this workflow began
	for {
		waited, hastened, err := waitUntil(ctx, until)
		if err != nil {
			return DeliverResult{}, err
		}
		sent, err := send(ctx, in, (waited || delayed) && !hastened)
		if err != nil || sent.NotBefore.IsZero() {
			return DeliverResult{Status: sent.Status}, err
		}
		until, delayed = sent.NotBefore, false // where that is past by the server's clock, a slower clock is not asked again
	}
}

// waitUntil sleeps until t, until told to send now, or until cancelled. A
// reschedule puts another time in the place of t; one that is no time is
// ignored.
func waitUntil(ctx workflow.Context, t time.Time) (waited, hastened bool, err error) {
	for !t.IsZero() && workflow.Now(ctx).Before(t) && err == nil && !hastened {
		waited = true
		timer, stop := workflow.WithCancel(ctx)
		summary := workflow.TimerOptions{Summary: "send after " + t.Format(time.RFC3339)}
		workflow.NewSelector(ctx).
			AddFuture(workflow.NewTimerWithOptions(timer, t.Sub(workflow.Now(ctx)), summary), func(f workflow.Future) {
				err = f.Get(ctx, nil)
			}).
			AddReceive(workflow.GetSignalChannel(ctx, SendNow), func(c workflow.ReceiveChannel, _ bool) {
				c.Receive(ctx, nil)
				hastened = true
			}).
			AddReceive(workflow.GetSignalChannel(ctx, Reschedule), func(c workflow.ReceiveChannel, _ bool) {
				var other time.Time
				if c.ReceiveAsync(&other) && !other.IsZero() { // Receive would wait for another signal instead
					t = other
				}
			}).
			Select(ctx)
		stop()
	}
	return waited, hastened, err
}

// send runs the attempts. How many there may be is counted by the activity,
// since an attempt that died with its worker was not the provider's failure.
func send(ctx workflow.Context, in DeliverInput, judgeQuiet bool) (activities.SendResult, error) {
	options := workflow.ActivityOptions{
		StartToCloseTimeout: in.Policy.Timeout + sendOverhead,
		WaitForCancellation: true, // what the provider was told already is known before the delivery ends
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval:    in.Policy.FirstRetry,
			BackoffCoefficient: in.Policy.Coefficient,
			MaximumInterval:    max(maxRetryInterval, in.Policy.FirstRetry),
		},
		Summary: fmt.Sprintf("send by %s", in.Channel),
	}
	input := activities.SendInput{
		DeliveryID: in.DeliveryID, Channel: in.Channel, Timeout: in.Policy.Timeout,
		MaxAttempts: in.Policy.MaxAttempts, AttemptsBefore: in.AttemptsBefore, JudgeQuiet: judgeQuiet,
	}
	var result activities.SendResult
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), acts.Send, input).Get(ctx, &result); err != nil {
		return result, err
	}
	if result.Unrecorded == nil {
		return result, nil
	}
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	return result, workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, recordOptions), acts.RecordSent, *result.Unrecorded).Get(ctx, nil)
}

// giveUp records the end of a delivery even when the workflow was cancelled.
func giveUp(ctx workflow.Context, in DeliverInput, status notification.Status, why string) (DeliverResult, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	result := DeliverResult{Reason: why}
	input := activities.GiveUpInput{DeliveryID: in.DeliveryID, Channel: in.Channel, Status: status, Reason: why}
	if err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, recordOptions), acts.GiveUp, input).Get(ctx, &result.Status); err != nil {
		return result, err
	}
	if result.Status == notification.Failed || result.Status == notification.Cancelled {
		setOutcome(ctx, string(result.Status))
	} else {
		result.Reason = ""
	}
	return result, nil
}

// reason is the failure in an activity's own words, or "no answer" when no
// attempt had any.
func reason(err error) string {
	var failure *temporal.ApplicationError
	if errors.As(err, &failure) {
		return failure.Message()
	}
	return "no answer"
}
