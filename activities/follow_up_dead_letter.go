package activities

import (
	"context"

	"herald/internal/notification"
)

// DeadLetterQueue takes failures for operators. A nil error means that the queue has stored the
// letter.
type DeadLetterQueue interface {
	PublishDeadLetter(ctx context.Context, letter notification.DeadLetter) error
}

// deadLetterStore reads the dead letters of deliveries.
type deadLetterStore interface {
	// DeadLetterOf returns false if the delivery is no longer FAILED, or is gone.
	DeadLetterOf(ctx context.Context, deliveryID string) (notification.DeadLetter, bool, error)
}

// publishDeadLetter publishes the dead letter of a FAILED delivery. It skips
// a delivery that an operator retries: its new attempt ends it again.
func (f *followUpLoop) publishDeadLetter(ctx context.Context, deliveryID string) error {
	letter, failed, err := f.FollowUps.DeadLetterOf(ctx, deliveryID)
	if err != nil || !failed {
		return err
	}
	if err := f.DeadLetters.PublishDeadLetter(ctx, letter); err != nil {
		return err
	}
	countDeadLetter(ctx, letter.Channel)
	return nil
}
