package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
	"herald/internal/template"
)

// SendDigestInput is the input of [Activities.SendDigest].
type SendDigestInput struct {
	DigestID    string
	Key         notification.DigestKey
	Timeout     time.Duration // of the call to the provider
	MaxAttempts int
	FirstRetry  time.Duration `json:",omitempty"` // as in [SendInput]
	Coefficient float64       `json:",omitempty"`
	JudgeQuiet  bool          `json:",omitempty"` // as [SealResult.JudgeItems] says
}

// SendDigestResult is the result of [Activities.SendDigest].
type SendDigestResult struct {
	Items int // how many the message listed; 0: all were cancelled, and nothing was sent
	// Dropped is why items are not told any more, by delivery id: they are CANCELLED.
	Dropped map[string]string `json:",omitempty"`
	// Unrecorded holds what could not be written down after the provider had
	// accepted the message, as in [SendResult].
	Unrecorded *notification.DigestResult `json:",omitempty"`
}

// SendDigest makes one attempt to hand a digest to its provider, and records on
// each of its items what came of it. Items that were cancelled since the last
// attempt are left out, and so are those that the rules do not allow any more. For
// crashes and the counting of attempts it is as [Activities.Send]: an attempt that
// finds all sent says so, and does nothing.
func (a *Activities) SendDigest(ctx context.Context, in SendDigestInput) (SendDigestResult, error) {
	attempt, err := a.beginDigest(ctx, in)
	if err != nil || len(attempt.Items) == 0 {
		return SendDigestResult{Items: attempt.Sent, Dropped: attempt.Dropped}, err
	}
	receipt, err := a.attemptDigest(ctx, in, attempt)
	result := notification.DigestResult{DigestID: in.DigestID, AttemptResult: attemptResult(receipt, err)}
	countAttempt(ctx, in.Key.Channel, attempt.Begun, result.Outcome)
	a.rejected.report(ctx, in.Key.Channel, result.AttemptResult)
	for _, item := range attempt.Items {
		result.Items = append(result.Items, notification.DigestItemAttempt{DeliveryID: item.DeliveryID, Attempt: item.Attempt})
	}
	recordErr := a.endDigestAttempt(ctx, result)
	if recordErr != nil {
		activity.GetLogger(ctx).Warn("attempt at digest not recorded", "digest_id", in.DigestID, "error", unquoted(recordErr))
	}
	if err != nil {
		return SendDigestResult{}, pace{in.Key.Channel, in.MaxAttempts, in.FirstRetry, in.Coefficient}.failure(attempt.Tried, err)
	}
	countDigest(ctx, in.Key.Channel, notification.Sent, len(attempt.Items))
	sent := SendDigestResult{Items: len(attempt.Items), Dropped: attempt.Dropped}
	if recordErr != nil {
		result.DeadDevices = nil // tokens stay out of the history; the next push finds them again
		sent.Unrecorded = &result
	}
	return sent, nil
}

func (a *Activities) beginDigest(ctx context.Context, in SendDigestInput) (notification.DigestAttempt, error) {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	return a.Digests.BeginDigest(ctx, notification.BeginDigest{DigestID: in.DigestID, Key: in.Key, JudgeQuiet: in.JudgeQuiet})
}

// attemptDigest writes the message and calls the provider, unless there is
// nothing to call it with.
func (a *Activities) attemptDigest(ctx context.Context, in SendDigestInput, attempt notification.DigestAttempt) (notification.Receipt, error) {
	sender, ok := a.Senders[in.Key.Channel]
	switch {
	case !ok:
		return notification.Receipt{}, notConfigured(in.Key.Channel)
	case attempt.Crashed >= maxCrashes:
		return notification.Receipt{}, crashed(attempt.Tried)
	case !timeFor(ctx, in.Timeout):
		return notification.Receipt{}, errLate
	}
	text, err := template.Digest(attempt.Templates, in.Key.EventType, in.Key.Channel, attempt.Recipient, attempt.Items)
	if err != nil {
		return notification.Receipt{}, permanent(err, NoText)
	}
	message := attempt.Message
	message.Title, message.Body = text.Title, text.Body
	ctx, cancel := context.WithTimeout(ctx, in.Timeout)
	defer cancel()
	return timedSend(ctx, sender, in.Key.Channel, message)
}

// endDigestAttempt records a result even when the activity was cancelled meanwhile.
func (a *Activities) endDigestAttempt(ctx context.Context, result notification.DigestResult) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return a.Digests.EndDigestAttempt(ctx, result)
}

// RecordDigest writes down what [Activities.SendDigest] could not.
func (a *Activities) RecordDigest(ctx context.Context, in notification.DigestResult) error {
	return a.Digests.EndDigestAttempt(ctx, in)
}
