package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// GiveUpInput is the input of [Activities.GiveUp].
type GiveUpInput struct {
	DeliveryID string
	Channel    notification.Channel
	Status     notification.Status // FAILED or CANCELLED
	Reason     string              // never an address or a text
}

// GiveUp ends a delivery without sending it, and returns its new status: a delivery that was sent
// meanwhile stays SENT. A failure on a channel with retries also gets a dead letter, which
// [Activities.FollowUp] publishes. If a rollback terminated the event, the delivery stays PENDING, and
// only its workflow ends.
func (a *Activities) GiveUp(ctx context.Context, in GiveUpInput) (notification.Status, error) {
	if rollback, err := rolledBack(ctx, a.Executions, in); err != nil || rollback {
		return in.Status, err
	}
	status, err := a.Deliveries.GiveUp(ctx, in.DeliveryID, in.Status, in.Reason)
	if err != nil {
		return "", failure(err)
	}
	if status != in.Status {
		return status, nil // the delivery ended before, and was counted then
	}
	if status == notification.Failed && in.Channel.BestEffort() {
		activity.GetLogger(ctx).Warn("best-effort delivery failed", "delivery_id", in.DeliveryID, "reason", in.Reason)
	}
	countEnd(ctx, in.Channel, status, in.Reason)
	return status, nil
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

// GiveUpDigest records that a digest will not be sent. The workflows of its items give up the
// items.
func (a *Activities) GiveUpDigest(ctx context.Context, in GiveUpDigestInput) (GiveUpDigestResult, error) {
	dropped, err := a.Digests.GiveUpDigest(ctx, in.DigestID, in.Status, in.Reason)
	if err != nil {
		return GiveUpDigestResult{}, err
	}
	countDigest(ctx, in.Channel, in.Status, 0)
	return GiveUpDigestResult{Dropped: dropped}, nil
}
