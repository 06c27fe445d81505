package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// DeadLetterQueue takes failures that an operator should look at. A nil error means
// that the queue has stored the letter.
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

// GiveUp records that a delivery will not be made, and returns its new status: a
// delivery that was sent meanwhile stays SENT. A failure on a channel with retries
// also goes to the dead-letter queue, after the record. A crash between the two
// repeats both, and a second dead letter has the same message id.
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
		return status, nil // the delivery had ended, and was counted, before
	}
	countEnd(ctx, in.Channel, status, in.Reason)
	return status, nil
}

// tellFailure publishes a failure to the dead-letter queue. On a best-effort channel it only
// logs the failure.
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
	Dropped map[string]string `json:",omitempty"` // as in [SendDigestResult]: the items that ended for another reason
}

// GiveUpDigest records that a digest will not be sent. The workflows of its items
// give up the items, and publish the dead letters.
func (a *Activities) GiveUpDigest(ctx context.Context, in GiveUpDigestInput) (GiveUpDigestResult, error) {
	dropped, err := a.Digests.GiveUpDigest(ctx, in.DigestID, in.Status, in.Reason)
	if err != nil {
		return GiveUpDigestResult{}, err
	}
	countDigest(ctx, in.Channel, in.Status, 0)
	return GiveUpDigestResult{Dropped: dropped}, nil
}
