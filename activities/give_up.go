package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// DeadLetterQueue takes failures that somebody should look at. A nil error means
// that it has the letter.
type DeadLetterQueue interface {
	PublishDeadLetter(ctx context.Context, letter notification.DeadLetter) error
}

// GiveUpInput is the input of [Activities.GiveUp].
type GiveUpInput struct {
	DeliveryID string
	Channel    notification.Channel
	Status     notification.Status // FAILED or CANCELLED
	Reason     string              // never an address or a text
}

// GiveUp records that a delivery will not be made, and returns the status that
// it has then: a delivery that was sent meanwhile stays SENT. A failure on a
// channel that is retried is also told to the dead-letter queue. Record first,
// then tell: a crash between the two repeats both, and a second dead letter has
// the same message id.
func (a *Activities) GiveUp(ctx context.Context, in GiveUpInput) (notification.Status, error) {
	status, err := a.Deliveries.GiveUp(ctx, in.DeliveryID, in.Status, in.Reason)
	if err != nil {
		return "", failure(err)
	}
	switch {
	case status == notification.Failed:
		if err := a.tellFailure(ctx, in); err != nil {
			return "", err
		}
	case status != in.Status:
		return status, nil // it had ended before, and was counted then
	}
	countEnd(ctx, in.Channel, status, in.Reason)
	return status, nil
}

// tellFailure reports a failure to the people who should look at it: the dead-letter queue, or
// on a best-effort channel the log.
func (a *Activities) tellFailure(ctx context.Context, in GiveUpInput) error {
	if in.Channel.BestEffort() {
		activity.GetLogger(ctx).Warn("best-effort delivery failed", "delivery_id", in.DeliveryID, "reason", in.Reason)
		return nil
	}
	letter, err := a.Deliveries.Failure(ctx, in.DeliveryID)
	if err != nil {
		return failure(err)
	}
	if err := a.DeadLetters.PublishDeadLetter(ctx, letter); err != nil {
		return retried(err)
	}
	countDeadLetter(ctx, in.Channel)
	return nil
}

// GiveUpDigestInput is the input of [Activities.GiveUpDigest].
type GiveUpDigestInput struct {
	DigestID string
	Channel  notification.Channel
	Status   notification.Status // FAILED or CANCELLED
	Reason   string              // never an address or a text
}

// GiveUpDigestResult is the result of [Activities.GiveUpDigest].
type GiveUpDigestResult struct {
	Dropped map[string]string `json:",omitempty"` // as in [SendDigestResult]: these items ended otherwise
}

// GiveUpDigest records that what a digest lists will not be sent. The items'
// own workflows do the rest, dead letters included.
func (a *Activities) GiveUpDigest(ctx context.Context, in GiveUpDigestInput) (GiveUpDigestResult, error) {
	dropped, err := a.Digests.GiveUpDigest(ctx, in.DigestID, in.Status, in.Reason)
	if err != nil {
		return GiveUpDigestResult{}, err
	}
	countDigest(ctx, in.Channel, in.Status, 0)
	return GiveUpDigestResult{Dropped: dropped}, nil
}
