package activities

import (
	"context"

	"herald/internal/notification"
)

// FinishEventInput is the input of [Activities.FinishEvent].
type FinishEventInput struct {
	EventID string
	Success bool // false: cancelled, or it could not be planned
}

// FinishEvent marks an event as ended and counts what became of it. The counts
// are the tables' own, so that the two cannot disagree.
func (a *Activities) FinishEvent(ctx context.Context, in FinishEventInput) (notification.Counts, error) {
	return a.Events.FinishEvent(ctx, in.EventID, in.Success)
}
