package activities

import (
	"context"

	"herald/internal/notification"
)

// FinishEventInput is the input of [Activities.FinishEvent].
type FinishEventInput struct {
	EventID string
	Success bool                      // false: cancelled, or it could not be planned
	Outcome notification.EventOutcome `json:",omitempty"` // its HeraldOutcome as far as the workflow knows; empty: none
}

// FinishEvent marks an event as ended and counts its deliveries from the tables, so
// that its result cannot disagree with them. An event that succeeded and left
// deliveries PENDING has the outcome INCOMPLETE.
func (a *Activities) FinishEvent(ctx context.Context, in FinishEventInput) (notification.Counts, error) {
	return a.Events.FinishEvent(ctx, in.EventID, in.Success, in.Outcome)
}
