package activities

import (
	"context"

	"herald/internal/notification"
)

// LaneSize says how the deliveries of a lane are made.
type LaneSize string

const (
	// LaneSmall: a workflow each. A result without a size means the same: it is of a release
	// that knew no other.
	LaneSmall LaneSize = "SMALL"
	// LaneBulk: many at once, in batches.
	LaneBulk LaneSize = "BULK"
	// LaneOpen: that is not known yet, since recipients are still planned.
	LaneOpen LaneSize = "OPEN"
)

// NextInput is the input of [Activities.NextDeliveries].
type NextInput struct {
	EventID string
	Lane    notification.Lane
	After   int64    // a notification.id
	Left    bool     `json:",omitempty"` // only what is PENDING; else also what FAILED before
	Planned bool     `json:",omitempty"` // all recipients are planned
	Fewer   bool     `json:",omitempty"` // of a lane in batches: also less than a whole batch
	Size    LaneSize `json:",omitempty"` // of the lane, as far as it was told
}

// NextResult is the result of [Activities.NextDeliveries].
type NextResult struct {
	notification.IDRange          // the zero value: there is none, for now
	Size                 LaneSize `json:",omitempty"`

	// Of a lane in batches only:
	Policy   *DeliveryPolicy       `json:",omitempty"` // how the deliveries are made
	Priority notification.Priority `json:",omitempty"` // that most of the stretch have
	Failed   bool                  `json:",omitempty"` // some of the stretch FAILED before
}

// NextDeliveries finds the next stretch of rows of a lane that are to be
// delivered: a page of them at most. It also says how they are made, from the number of
// deliveries that the lane has by now.
func (a *Activities) NextDeliveries(ctx context.Context, in NextInput) (NextResult, error) {
	size, err := a.laneSize(ctx, in)
	if err != nil {
		return NextResult{}, err
	}
	found, err := a.Plans.NextDeliveries(ctx, in.EventID, in.Lane, in.After, onlyOf(in.Left, false), pageDeliveries)
	next := NextResult{IDRange: found.IDRange, Size: size}
	switch {
	case err != nil || size != LaneBulk || found.Count == 0:
		return next, err
	case found.Count < pageDeliveries && !in.Fewer:
		return NextResult{Size: size}, nil
	}
	policy := a.Policies[in.Lane.Channel]
	next.Policy, next.Priority, next.Failed = &policy, found.Priority, found.Failed
	return next, nil
}

// laneSize is what the lane was told before, if it was. Else it counts, and is known as
// soon as the lane has many deliveries, or all recipients are planned.
func (a *Activities) laneSize(ctx context.Context, in NextInput) (LaneSize, error) {
	switch {
	case in.Size != "":
		return in.Size, nil
	case in.Lane.Waiting || a.BulkThreshold == 0:
		return LaneSmall, nil
	}
	many, err := a.Plans.LaneExceeds(ctx, in.EventID, in.Lane, a.BulkThreshold)
	switch {
	case many:
		return LaneBulk, err
	case in.Planned:
		return LaneSmall, err
	default:
		return LaneOpen, err
	}
}

// anyBulk says that a channel has so many deliveries to be sent at once that they go in
// batches.
func (a *Activities) anyBulk(deliveries []notification.Delivery) bool {
	if a.BulkThreshold == 0 {
		return false
	}
	count := map[notification.Channel]int{}
	for _, d := range deliveries {
		if !d.Waits() {
			count[d.Channel]++
		}
		if count[d.Channel] > a.BulkThreshold {
			return true
		}
	}
	return false
}
