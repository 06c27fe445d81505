package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

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
	if status != notification.Failed {
		if status == in.Status { // else it had ended already, and is counted
			countDelivery(ctx, in.Channel, status)
		}
		return status, nil
	}
	if in.Channel.BestEffort() {
		activity.GetLogger(ctx).Warn("best-effort delivery failed", "delivery_id", in.DeliveryID, "reason", in.Reason)
		countDelivery(ctx, in.Channel, status)
		return status, nil
	}
	letter, err := a.Deliveries.Failure(ctx, in.DeliveryID)
	if err != nil {
		return "", failure(err)
	}
	if err := a.DeadLetters.PublishDeadLetter(ctx, letter); err != nil {
		return "", retried(err)
	}
	countDeadLetter(ctx, in.Channel)
	countDelivery(ctx, in.Channel, status)
	return status, nil
}

// reason is the text of a failure for the tables: an application error's own
// message, without Temporal's decoration.
func reason(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}
