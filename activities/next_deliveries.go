package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// LaneStore is the part of the database that hands out the deliveries of lanes.
type LaneStore interface {
	// Lanes reads the lanes of an event in which a delivery is still to be made.
	Lanes(ctx context.Context, eventID string) ([]notification.Lane, error)
	Undelivered(ctx context.Context, eventID string, limit int) ([]notification.Delivery, error)
	NextDeliveries(
		ctx context.Context, eventID string, lane notification.Lane, ids notification.IDRange, only notification.Status, limit int,
	) (notification.Stretch, error)
	// LaneDeliveries reads the first deliveries of a part with the status `only`; empty: PENDING
	// and FAILED. next is the first notification.id of the next call; 0: none are left.
	LaneDeliveries(
		ctx context.Context, part notification.Part, only notification.Status, limit int,
	) (deliveries []notification.Delivery, next int64, err error)
	// ReopenFailed makes the FAILED deliveries of a part PENDING, unless a receipt made them
	// FAILED.
	ReopenFailed(ctx context.Context, part notification.Part) error
}

const (
	// batchDeliveries limits the deliveries of one batch.
	batchDeliveries = 2000
	// listedAtOnce limits the deliveries in one result: at most 250 KB of history.
	listedAtOnce = 250
)

// NextInput is the input of [Activities.NextDeliveries].
type NextInput struct {
	EventID string
	Lane    notification.Lane
	After   int64 // a notification.id
	Last    int64 `json:",omitempty"` // the last notification.id to return; 0: no limit
	Pending bool  `json:",omitempty"` // only PENDING deliveries; otherwise also FAILED ones
	Bulk    bool  `json:",omitempty"` // for a batch

	Planning bool `json:",omitempty"` // the lane waits for the event's signal that all recipients are planned
}

// limit returns the maximum number of deliveries in a stretch.
func (in NextInput) limit() int {
	switch {
	case in.Bulk:
		return batchDeliveries
	case in.Lane.Waiting:
		return pageDeliveries
	default:
		return pageDeliveries / 2 // four pages of a lane share its first deliveries
	}
}

// NextResult is the result of [Activities.NextDeliveries].
type NextResult struct {
	notification.IDRange      // the zero value: no deliveries yet
	Partial              bool `json:",omitempty"` // more deliveries may follow soon
	Orphaned             bool `json:",omitempty"` // no deliveries, and the event will not signal the lane

	// For a batch only:
	Policy   *DeliveryPolicy       `json:",omitempty"`
	Priority notification.Priority `json:",omitempty"` // the priority of most deliveries in the stretch
}

// NextDeliveries finds the next stretch of a lane's deliveries to send. For a batch, it first makes
// FAILED deliveries PENDING again, because an event that is started again retries them.
//
// Without deliveries, a lane waits for its event's signal. It would wait forever if the event was
// terminated or lost, or was reset to before the start of the lane. So NextDeliveries asks Temporal
// whether the event still has the lane.
func (a *Activities) NextDeliveries(ctx context.Context, in NextInput) (NextResult, error) {
	found, err := a.Lanes.NextDeliveries(ctx, in.EventID, in.Lane, notification.IDRange{First: in.After + 1, Last: in.Last},
		pendingOnly(in.Pending), in.limit())
	next := NextResult{IDRange: found.IDRange, Partial: found.Count < in.limit()}
	if err != nil || found.Count == 0 && !in.Planning || found.Count > 0 && !in.Bulk {
		return next, err
	}
	if found.Count == 0 {
		has, err := a.Executions.HasChild(ctx, in.EventID, activity.GetInfo(ctx).WorkflowExecution.ID)
		next.Orphaned = err == nil && !has
		return next, err
	}
	if found.Failed {
		err = a.Lanes.ReopenFailed(ctx, notification.Part{EventID: in.EventID, Lane: in.Lane, IDs: found.IDRange})
	}
	policy := a.Policies[in.Lane.Channel]
	next.Policy, next.Priority = &policy, found.Priority
	return next, err
}

// pendingOnly returns the status to look for; empty: PENDING and FAILED.
func pendingOnly(pending bool) notification.Status {
	if pending {
		return notification.Pending
	}
	return ""
}

// ListInput is the input of [Activities.ListDeliveries].
type ListInput struct {
	notification.Part
	Pending bool `json:",omitempty"` // only PENDING deliveries; otherwise also FAILED ones
}

// ListResult is the result of [Activities.ListDeliveries].
type ListResult struct {
	DeliveryBatch
	Next int64 `json:",omitempty"` // the first notification.id of the next list; 0: this was the last one
}

// ListDeliveries returns the first deliveries of a part that are still to be sent.
func (a *Activities) ListDeliveries(ctx context.Context, in ListInput) (ListResult, error) {
	deliveries, next, err := a.Lanes.LaneDeliveries(ctx, in.Part, pendingOnly(in.Pending), listedAtOnce)
	return ListResult{DeliveryBatch: newDeliveryBatch(deliveries, a.Policies), Next: next}, err
}
