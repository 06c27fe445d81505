package activities

import "context"

// EscalationWorkflows signals the escalation workflows of deliveries.
type EscalationWorkflows interface {
	// SettleEscalation tells the escalation of a delivery to look at it. It returns no error if
	// no escalation waits.
	SettleEscalation(ctx context.Context, deliveryID string) error
}

// wakeEscalation wakes the escalation of a delivery.
func (f *followUpLoop) wakeEscalation(ctx context.Context, deliveryID string) error {
	return f.Escalations.SettleEscalation(ctx, deliveryID)
}

// cancelReplaced ends the wait of a delivery that a newer event has replaced.
func (f *followUpLoop) cancelReplaced(ctx context.Context, deliveryID string) error {
	return f.Canceller.CancelDelivery(ctx, deliveryID, "replaced by a newer event")
}
