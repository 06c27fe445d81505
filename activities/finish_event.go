package activities

import (
	"cmp"
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// FinishEventInput is the input of [Activities.FinishEvent].
type FinishEventInput struct {
	EventID string
	Success bool                      // false: the event was cancelled or could not be planned
	Outcome notification.EventOutcome `json:",omitempty"` // the HeraldOutcome that the workflow knows; empty: none
	Problem string                    `json:",omitempty"` // names the rows of rules without recipients; empty: none
}

// FinishEvent marks an event as ended and counts its deliveries from the tables, so that its result
// cannot disagree with them. A successful event with PENDING deliveries gets the outcome
// INCOMPLETE. Otherwise an event that told people and has a problem gets the outcome PROBLEM.
// Cancelling a million deliveries takes minutes, so it heartbeats.
//
// A local activity may be too late: its workflow task may be lost while the database still runs its
// statement, and the event may get another end meanwhile. So a local activity does not change a
// recorded end. It fails, and the workflow records the end by a normal activity.
func (a *Activities) FinishEvent(ctx context.Context, in FinishEventInput) (notification.Counts, error) {
	defer heartbeats(ctx, PollHeartbeat/5, nil)()
	counts, err := a.Events.FinishEvent(ctx, notification.EventEnd{
		EventID: in.EventID, Success: in.Success, Outcome: in.Outcome, Problem: in.Problem,
		First: activity.GetInfo(ctx).IsLocalActivity,
	})
	if err == nil {
		byOutcome(activity.GetMetricsHandler(ctx), cmp.Or(string(counts.Outcome), eventTold)).Counter(EventsMetric).Inc(1)
	}
	return counts, err
}
