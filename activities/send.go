package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// DeliveryStore is what sending needs of the database.
type DeliveryStore interface {
	BeginAttempt(ctx context.Context, in notification.Begin) (notification.Attempt, error)
	// EndAttempt returns how old the event is that was told of, by the database's
	// clock; 0: not sent, or delayed on purpose.
	EndAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error)
	GiveUp(ctx context.Context, deliveryID string, status notification.Status, reason string) (notification.Status, error)
	Failure(ctx context.Context, deliveryID string) (notification.DeadLetter, error)
}

// A Sender hands one message to one provider, once. Every failure of the
// provider or of the wire is a [notification.ProviderError].
type Sender interface {
	Send(ctx context.Context, msg notification.Message) (notification.Receipt, error)
}

// SendInput is the input of [Activities.Send].
type SendInput struct {
	DeliveryID     string
	Channel        notification.Channel
	Timeout        time.Duration // of the call to the provider
	MaxAttempts    int
	FirstRetry     time.Duration `json:",omitempty"` // between the first attempt and the second; 0: Temporal's retry policy decides
	Coefficient    float64       `json:",omitempty"` // by which each further interval grows
	AttemptsBefore int           // of earlier runs of this delivery
	JudgeQuiet     bool          // the delivery has waited: judge its quiet hours again
	Ordered        bool          `json:",omitempty"` // by an operator: whom they want told is told, whatever was switched off
}

// SendResult is the result of [Activities.Send].
type SendResult struct {
	Status    notification.Status
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sent; it is quiet until then
	Wait      string    `json:",omitempty"` // the same for people
	Quiet     bool      // nothing was sent: it is quiet, and what comes then is dropped
	Dropped   string    `json:",omitempty"` // nothing was sent, for this reason: the recipient is not to be told any more
	// Unrecorded holds what could not be written down after the provider had
	// accepted the message. The workflow writes it later; sending again would
	// be a duplicate.
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// beginTimeout and recordTimeout bound what begins an attempt, and what ends it.
// The provider's time-out is its own: it is called only where the activity has time
// for all of it, and for the record.
const beginTimeout, recordTimeout = 5 * time.Second, 5 * time.Second

// maxCrashes is how many attempts of one run may end without a result, each
// with the death of its process, before the message is held to be the cause.
const maxCrashes = 10

// Send makes one attempt to hand a delivery to its provider, and records what
// came of it. An attempt that finds the delivery sent or cancelled does
// nothing. A process that dies between the provider's answer and our record
// leaves an attempt that never ended; only then the next one can be a repeat.
//
// Failures of the provider use up the attempts of the policy; crashes, failures of
// our own database and rejections of our account do not.
func (a *Activities) Send(ctx context.Context, in SendInput) (SendResult, error) {
	attempt, err := a.begin(ctx, in)
	switch {
	case err != nil:
		return SendResult{}, failure(err)
	case !attempt.Due():
		return SendResult{Status: attempt.Status}, nil
	case attempt.Held():
		return held(attempt.Verdict), nil
	}
	receipt, err := a.attempt(ctx, in, attempt)
	if err == nil {
		return a.recordSent(ctx, in, attempt, receipt), nil
	}
	a.recordFailure(ctx, in, attempt, receipt, err)
	return SendResult{}, pace{in.Channel, in.MaxAttempts, in.FirstRetry, in.Coefficient}.failure(attempt.Tried, err)
}

func (a *Activities) begin(ctx context.Context, in SendInput) (notification.Attempt, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Deliveries.BeginAttempt(ctx, notification.Begin{
		DeliveryID: in.DeliveryID, Before: in.AttemptsBefore, JudgeQuiet: in.JudgeQuiet, Ordered: in.Ordered,
	})
}

// held is the result where a delivery may not be sent.
func held(v notification.Verdict) SendResult {
	result := SendResult{Status: notification.Pending, NotBefore: v.NotBefore, Wait: v.Wait}
	if v.Dropped == notification.WaitQuietHours {
		result.Quiet = true // as the releases before knew it
	} else {
		result.Dropped = v.Dropped
	}
	return result
}

// attempt calls the provider, unless there is nothing to call it with.
func (a *Activities) attempt(ctx context.Context, in SendInput, attempt notification.Attempt) (notification.Receipt, error) {
	sender, ok := a.Senders[in.Channel]
	switch {
	case !ok:
		return notification.Receipt{}, notConfigured(in.Channel)
	case attempt.Problem != "":
		return notification.Receipt{}, permanent(errors.New(attempt.Problem), NoText)
	case attempt.Crashed >= maxCrashes:
		return notification.Receipt{}, crashed(attempt.Tried)
	case !timeFor(ctx, in.Timeout):
		return notification.Receipt{}, errLate
	}
	ctx, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	return timedSend(ctx, sender, in.Channel, attempt.Message)
}

func crashed(tried notification.Tried) error {
	return permanent(fmt.Errorf("%d attempts ended without a result", tried.Crashed), AttemptsExhausted)
}

// errLate is an attempt that was begun too late, on a machine or with a database
// that hangs. It is not the provider's failure, and is repeated.
var errLate = errors.New("too little time was left to call the provider and to record its answer")

// timeFor says that the activity has the time for a call that takes all of its
// time-out, and to record what it brings: a result that comes later is forgotten,
// and the message sent again.
func timeFor(ctx context.Context, timeout time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) >= timeout+recordTimeout
}

func notConfigured(channel notification.Channel) error {
	return permanent(fmt.Errorf("%s has no credentials on this worker", channel), ChannelNotConfigured)
}

func (a *Activities) recordSent(ctx context.Context, in SendInput, attempt notification.Attempt, receipt notification.Receipt) SendResult {
	result := attemptResult(receipt, nil)
	result.DeliveryID, result.Number = attempt.Message.DeliveryID, attempt.Number
	countAttempt(ctx, in.Channel, attempt.Begun, result.Outcome)
	countDelivery(ctx, in.Channel, notification.Sent) // recorded or not: nothing sends it again
	sent := SendResult{Status: notification.Sent}
	age, err := a.endAttempt(ctx, result)
	observeCommitToSent(ctx, in.Channel, age)
	if err != nil {
		activity.GetLogger(ctx).Warn("sent, but not recorded yet", "delivery_id", result.DeliveryID, "error", unquoted(err))
		result.DeadDevices = nil // tokens stay out of the history; the next push finds them again
		sent.Unrecorded = &result
	}
	return sent
}

// recordFailure writes down a failed attempt. Where that fails too, the attempt
// stays open: it then counts as a crash, and the delivery is tried once more.
func (a *Activities) recordFailure(ctx context.Context, in SendInput, attempt notification.Attempt, receipt notification.Receipt, cause error) {
	result := attemptResult(receipt, cause)
	result.DeliveryID, result.Number = attempt.Message.DeliveryID, attempt.Number
	a.rejected.report(ctx, in.Channel, result)
	countAttempt(ctx, in.Channel, attempt.Begun, result.Outcome)
	if _, err := a.endAttempt(ctx, result); err != nil {
		activity.GetLogger(ctx).Warn("failed attempt not recorded", "delivery_id", result.DeliveryID, "error", unquoted(err))
	}
}

// attemptResult is what a provider's answer, or its failure, is on record.
func attemptResult(receipt notification.Receipt, err error) notification.AttemptResult {
	result := notification.AttemptResult{
		Outcome: notification.OutcomeSent, ProviderStatus: receipt.Status, ProviderID: receipt.ProviderID, DeadDevices: receipt.DeadDevices,
	}
	if err == nil {
		return result
	}
	result.Outcome, result.ProviderID, result.Detail = notification.OutcomeError, "", reason(err)
	var provider *notification.ProviderError
	if errors.As(err, &provider) {
		result.Outcome, result.ProviderStatus = provider.Class.Outcome(), provider.Status
	}
	return result
}

// endAttempt records a result even when the activity was cancelled meanwhile.
func (a *Activities) endAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return a.Deliveries.EndAttempt(ctx, result)
}

// RecordSent writes down what [Activities.Send] could not.
func (a *Activities) RecordSent(ctx context.Context, in notification.AttemptResult) error {
	_, err := a.Deliveries.EndAttempt(ctx, in)
	return err
}
