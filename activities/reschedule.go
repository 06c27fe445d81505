package activities

import (
	"context"
	"time"

	"herald/internal/notification"
)

// RescheduleInput is the input of [Activities.Reschedule].
type RescheduleInput struct {
	DeliveryID string
	Until      time.Time `json:",omitzero"` // zero: now, even in quiet hours
}

// Reschedule stores the time that an operator orders by a signal, and returns what the row says then.
// It sends nothing. `starter` stores the time itself before it signals, so for its signals Reschedule
// stores the same time again. A delivery that has ended stays as it is.
func (a *Activities) Reschedule(ctx context.Context, in RescheduleInput) (SendResult, error) {
	if err := a.Deliveries.Reschedule(ctx, in.DeliveryID, in.Until); err != nil {
		return SendResult{}, err
	}
	found, err := a.Attempts.BeginAttempts(ctx, notification.Begin{DeliveryIDs: []string{in.DeliveryID}, StatusOnly: true})
	if err != nil {
		return SendResult{}, err
	}
	return stepOf(found[0])
}
