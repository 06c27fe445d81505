package activities

import "context"

// EscalationWorkflows signals the escalation workflows of deliveries.
type EscalationWorkflows interface {
	// SettleEscalation tells the escalation of a delivery to look at it. It returns no error if
	// no escalation waits.
	SettleEscalation(ctx context.Context, deliveryID string) error
}

// followUpWithEscalation wakes the escalation of a delivery.
func (a *Activities) followUpWithEscalation(ctx context.Context, deliveryID string) error {
	return a.Escalations.SettleEscalation(ctx, deliveryID)
}

// followUpReplaced ends the wait of a delivery that a newer event has replaced.
func (a *Activities) followUpReplaced(ctx context.Context, deliveryID string) error {
	return a.Canceller.CancelDelivery(ctx, deliveryID, "replaced by a newer event")
}
