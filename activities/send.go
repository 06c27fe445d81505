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
	BeginAttempt(ctx context.Context, deliveryID string, before int) (notification.Attempt, error)
	// EndAttempt returns how old the event is that was told of, by the database's
	// clock; 0: not sent, or delayed on purpose.
	EndAttempt(ctx context.Context, result notification.AttemptResult) (time.Duration, error)
	QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error)
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
	AttemptsBefore int  // of earlier runs of this delivery
	JudgeQuiet     bool // the delivery has waited: judge its quiet hours again
}

// SendResult is the result of [Activities.Send].
type SendResult struct {
	Status    notification.Status
	NotBefore time.Time `json:",omitzero"`  // set: nothing was sent; it is quiet until then
	Wait      string    `json:",omitempty"` // the same for people
	Quiet     bool      // nothing was sent: it is quiet, and the routing says DROP
	// Unrecorded holds what could not be written down after the provider had
	// accepted the message. The workflow writes it later; sending again would
	// be a duplicate.
	Unrecorded *notification.AttemptResult `json:",omitempty"`
}

// recordTimeout bounds the statement that ends an attempt.
const recordTimeout = 5 * time.Second

// maxCrashes is how many attempts of one run may end without a result, each
// with the death of its process, before the message is held to be the cause.
const maxCrashes = 10

// Send makes one attempt to hand a delivery to its provider, and records what
// came of it. An attempt that finds the delivery sent or cancelled does
// nothing. A process that dies between the provider's answer and our record
// leaves an attempt that never ended; only then the next one can be a repeat.
//
// Failures of the provider use up the attempts of the policy, crashes and
// failures of our own database do not.
func (a *Activities) Send(ctx context.Context, in SendInput) (SendResult, error) {
	if in.JudgeQuiet {
		result, err := a.judgeQuiet(ctx, in.DeliveryID)
		if err != nil || result.Quiet || !result.NotBefore.IsZero() {
			return result, err
		}
	}
	attempt, err := a.Deliveries.BeginAttempt(ctx, in.DeliveryID, in.AttemptsBefore)
	if err != nil {
		return SendResult{}, failure(err)
	}
	if !attempt.Due() {
		return SendResult{Status: attempt.Status}, nil
	}
	receipt, err := a.attempt(ctx, in, attempt)
	if err == nil {
		return a.recordSent(ctx, in, attempt, receipt), nil
	}
	a.recordFailure(ctx, in, attempt, receipt, err)
	return SendResult{}, exhausted(in, attempt, err)
}

// judgeQuiet looks at the quiet hours as they are now.
func (a *Activities) judgeQuiet(ctx context.Context, deliveryID string) (SendResult, error) {
	check, err := a.Deliveries.QuietCheck(ctx, deliveryID)
	if err != nil {
		return SendResult{}, failure(err)
	}
	judged := judge(check, deliveryID, time.Now())
	return SendResult{Status: notification.Pending, NotBefore: judged.NotBefore, Wait: judged.Wait, Quiet: judged.Quiet}, nil
}

// judgement is what quiet hours mean for a message that is about to be sent.
type judgement struct {
	NotBefore time.Time // set: it has to wait until then
	Wait      string    // the same for people: the end of the quiet hours
	Quiet     bool      // it is not to be sent at all
}

// judge releases what has to wait at a moment that its key decides.
func judge(check notification.QuietCheck, key string, now time.Time) judgement {
	silence, deferred := check.Silence(now)
	if !deferred {
		return judgement{Quiet: silence.Quiet}
	}
	return judgement{
		NotBefore: silence.Release(key).UTC(),
		Wait:      notification.WaitText(silence.Until, now, check.Timezone, notification.WaitQuietHours),
	}
}

// attempt calls the provider, unless there is nothing to call it with.
func (a *Activities) attempt(ctx context.Context, in SendInput, attempt notification.Attempt) (notification.Receipt, error) {
	sender, ok := a.Senders[in.Channel]
	switch {
	case !ok:
		return notification.Receipt{}, notConfigured(in.Channel)
	case attempt.Problem != "":
		return notification.Receipt{}, permanent(errors.New(attempt.Problem), NoText)
	case attempt.Begun-attempt.Ended > maxCrashes:
		return notification.Receipt{}, permanent(fmt.Errorf("%d attempts ended without a result", attempt.Begun-attempt.Ended-1), AttemptsExhausted)
	}
	ctx, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	return timedSend(ctx, sender, in.Channel, attempt.Message)
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
		activity.GetLogger(ctx).Warn("sent, but not recorded yet", "delivery_id", result.DeliveryID, "error", err)
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
	if result.Outcome == notification.OutcomeAccount {
		activity.GetLogger(ctx).Error("a provider rejects our account", "channel_error", result.Detail)
	}
	countAttempt(ctx, in.Channel, attempt.Begun, result.Outcome)
	if _, err := a.endAttempt(ctx, result); err != nil {
		activity.GetLogger(ctx).Warn("failed attempt not recorded", "delivery_id", result.DeliveryID, "error", err)
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

// exhausted is the failure of an attempt, made permanent when it was the last
// that the policy allows.
func exhausted(in SendInput, attempt notification.Attempt, err error) error {
	var provider *notification.ProviderError
	if errors.As(err, &provider) && provider.Class != notification.Refused && attempt.Ended+1 >= in.MaxAttempts {
		return permanent(provider, AttemptsExhausted)
	}
	return failure(err)
}

// RecordSent writes down what [Activities.Send] could not.
func (a *Activities) RecordSent(ctx context.Context, in notification.AttemptResult) error {
	_, err := a.Deliveries.EndAttempt(ctx, in)
	return err
}
