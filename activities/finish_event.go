package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// FinishEventInput is the input of [Activities.FinishEvent].
type FinishEventInput struct {
	EventID string
	Success bool                      // false: cancelled, or it could not be planned
	Outcome notification.EventOutcome `json:",omitempty"` // its HeraldOutcome as far as the workflow knows; empty: none
	Problem string                    `json:",omitempty"` // which rows of the rules named nobody; empty: none
}

// FinishEvent marks an event as ended and counts its deliveries from the tables, so
// that its result cannot disagree with them. An event that succeeded and left
// deliveries PENDING has the outcome INCOMPLETE, and else one that told people and
// has a problem the outcome PROBLEM.
//
// A local activity may be overtaken: its workflow task is lost while the database still has
// its statement, and the event ends otherwise. So it does not change an end that is recorded,
// but fails, and the workflow has the end recorded by an activity of its own.
func (a *Activities) FinishEvent(ctx context.Context, in FinishEventInput) (notification.Counts, error) {
	counts, err := a.Events.FinishEvent(ctx, notification.EventEnd{
		EventID: in.EventID, Success: in.Success, Outcome: in.Outcome, Problem: in.Problem,
		First: activity.GetInfo(ctx).IsLocalActivity,
	})
	if err == nil {
		countEvent(ctx, counts.Outcome)
	}
	return counts, err
}
