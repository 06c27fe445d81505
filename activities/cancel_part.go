package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// CancelPartInput is the input of [Activities.CancelPart].
type CancelPartInput struct {
	notification.Part
	Reason   notification.EndReason
	EventRun string `json:",omitempty"` // the run of the event's workflow that the part belongs to; empty: that run asks
}

// CancelPartResult is the result of [Activities.CancelPart].
type CancelPartResult struct {
	Cancelled int
}

// CancelPart cancels the deliveries of a part of an event that were not sent yet. A repeat
// cancels the rest. If the event's run was terminated, Temporal has cancelled the part with
// it: CancelPart then leaves the deliveries to the next run of the event, or to the sweep.
func (a *Activities) CancelPart(ctx context.Context, in CancelPartInput) (CancelPartResult, error) {
	if in.EventRun != "" {
		terminated, err := a.Executions.Terminated(ctx, in.EventID, in.EventRun)
		if err != nil {
			return CancelPartResult{}, retried(err)
		}
		if terminated {
			return CancelPartResult{}, nil
		}
	}
	var result CancelPartResult
	for next := int64(1); next > 0; in.IDs.First = next {
		var cancelled int
		var err error
		if cancelled, next, err = a.Cancels.CancelPart(ctx, in.Part, in.Reason, cancelledAtOnce); err != nil {
			return CancelPartResult{}, err
		}
		result.Cancelled += cancelled
		activity.RecordHeartbeat(ctx)
	}
	return result, nil
}
