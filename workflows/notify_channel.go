package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// ChannelInput is the input of [NotifyChannel]. The event sets the first six fields. A long
// lane hands the other fields to its next run.
type ChannelInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	Lane      notification.Lane
	Bulk      bool  `json:",omitempty"` // its deliveries go in batches
	Planned   bool  `json:",omitempty"` // all recipients are planned
	After     int64 `json:",omitempty"` // the rows up to this notification.id were handed on
	Parts     int   `json:",omitempty"` // the number of pages or batches so far
	Pending   bool  `json:",omitempty"` // second pass: all rows were handed on, and it looks for PENDING rows
}

// event is the event of the lane.
func (in ChannelInput) event() batchEvent {
	return batchEvent{in.EventID, in.EventType, in.Aggregate}
}

// allPlanned is the signal by which an event tells its lanes that no more rows
// will follow. It has no argument.
const allPlanned = "all-planned"

const (
	// laneDeliveries limits the deliveries that a lane starts as children concurrently.
	laneDeliveries = 400
	// openBatches limits the batches of a lane. Most of them wait: for a worker, or for second
	// attempts.
	openBatches = 100
	// waitingPages limits the pages of a lane that waits. Each has up to 500 deliveries.
	waitingPages = 400
	// waitedHistory limits the history while children run, in events. Then the lane waits for its
	// children and continues as new: Temporal would cancel children that still run. The wait
	// delays further rows, after some 1,000 deliveries or several hundred batches.
	waitedHistory = 9_000
	// A lane that has caught up with the planning looks for new rows at intervals that double
	// from firstLook, or batchLook for batches, to seldomLook.
	firstLook, batchLook, seldomLook = time.Second, 250 * time.Millisecond, 10 * time.Second
)

// NotifyChannel makes the deliveries of a large event over one channel: either the deliveries to
// send at once, or the deliveries that wait. So an outage of one channel does not delay the
// others. It works through the stored rows while the event still plans. It starts batches for a
// bulk event, pages for deliveries that wait, and otherwise one workflow per delivery. It ends
// after the event's signal that all recipients are planned, and after its last child.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := newOpenLane(ctx, in)
	l.listen(ctx)
	return endPart(ctx, l.part(notification.IDRange{}), l.run(ctx))
}
