package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// CancelStore is the part of the database that cancels many deliveries.
type CancelStore interface {
	// MayCancel reports whether the event `by` may cancel an event.
	MayCancel(ctx context.Context, by, eventID string) (bool, error)
	// CancelPart cancels the first deliveries of a part of an event, up to limit. next is the first
	// notification.id of the next call; 0: none are left.
	CancelPart(ctx context.Context, part notification.Part, reason notification.EndReason, limit int) (cancelled int, next int64, err error)
	EventCounts(ctx context.Context, eventID string) (map[notification.Status]int, error)
}

// Canceller asks the workflows of events and deliveries to end.
type Canceller interface {
	// CancelEvent asks the workflow of an event to end, if one runs. It ignores any other workflow
	// that has the id. The workflow's history shows the reason.
	CancelEvent(ctx context.Context, eventID, reason string) error
	// CancelDelivery does the same for the workflow of a delivery.
	CancelDelivery(ctx context.Context, deliveryID, reason string) error
}

// cancelledAtOnce is the number of deliveries that one statement cancels.
const cancelledAtOnce = 1000

// CancelEventInput is the input of [Activities.CancelEvent].
type CancelEventInput struct {
	EventID string // of the event to cancel
	By      string // the event that cancels it
}

// CancelEventResult is the result of [Activities.CancelEvent].
type CancelEventResult struct {
	Deliveries map[notification.Status]int // of the cancelled event, by status; an attempt in flight may still make a delivery SENT
}

// CancelEvent cancels another event's deliveries that were not sent yet. Planning and every attempt
// already read from the rows that the event is cancelled. So this activity only ends waiting
// deliveries sooner, and a crash or a repeat does no harm. It cancels the rows before the workflow,
// so that the rows name the cancelling event.
func (a *Activities) CancelEvent(ctx context.Context, in CancelEventInput) (CancelEventResult, error) {
	if may, err := a.Cancels.MayCancel(ctx, in.By, in.EventID); err != nil || !may {
		return CancelEventResult{}, err
	}
	reason := notification.CancelledBy(in.By)
	if _, err := a.cancelAll(ctx, in.EventID, notification.EndReason(reason)); err != nil {
		return CancelEventResult{}, err
	}
	if err := a.Canceller.CancelEvent(ctx, in.EventID, reason); err != nil {
		return CancelEventResult{}, retried(err)
	}
	counts, err := a.Cancels.EventCounts(ctx, in.EventID)
	return CancelEventResult{Deliveries: counts}, err
}

// CancelPartInput is the input of [Activities.CancelPart].
type CancelPartInput struct {
	notification.Part
	Reason   notification.EndReason
	EventRun string `json:",omitempty"` // the run of the event's workflow to which the part belongs; empty: that run is the caller
}

// CancelPartResult is the result of [Activities.CancelPart].
type CancelPartResult struct {
	Cancelled int
}

// CancelPart cancels the deliveries of a part of an event that were not sent yet. A repeat cancels
// the rest. If the event's run was terminated, Temporal has cancelled the part, too. Then
// CancelPart leaves the deliveries to the next run of the event, or to the sweep.
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
	cancelled, err := cancelPart(ctx, a.Cancels, in.Part, in.Reason)
	return CancelPartResult{Cancelled: cancelled}, err
}

// cancelAll cancels the deliveries of an event that were not sent yet.
func (a *Activities) cancelAll(ctx context.Context, eventID string, reason notification.EndReason) (cancelled int, err error) {
	lanes, err := a.Lanes.Lanes(ctx, eventID)
	for i := 0; err == nil && i < len(lanes); i++ {
		var some int
		some, err = cancelPart(ctx, a.Cancels, notification.Part{EventID: eventID, Lane: lanes[i]}, reason)
		cancelled += some
	}
	return cancelled, err
}

// cancelPart cancels the deliveries of a part that were not sent yet.
func cancelPart(
	ctx context.Context, store CancelStore, part notification.Part, reason notification.EndReason,
) (cancelled int, err error) {
	for next := int64(1); err == nil && next > 0; part.IDs.First = next {
		var some int
		some, next, err = store.CancelPart(ctx, part, reason, cancelledAtOnce)
		cancelled += some
		activity.RecordHeartbeat(ctx)
	}
	return cancelled, err
}
