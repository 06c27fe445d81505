package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// ChannelInput is the input of [NotifyChannel]. The event sets the first six fields. A long
// lane hands the other ones to its next run.
type ChannelInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	Lane      notification.Lane
	Bulk      bool  `json:",omitempty"` // its deliveries go in batches
	Planned   bool  `json:",omitempty"` // all recipients are planned
	After     int64 `json:",omitempty"` // the rows up to this notification.id were handed on
	Parts     int   `json:",omitempty"` // in how many pages or batches
	Pending   bool  `json:",omitempty"` // all rows had their turn, and it looks for PENDING ones once more
}

// event is the event of the lane.
func (in ChannelInput) event() batchEvent {
	return batchEvent{in.EventID, in.EventType, in.Aggregate}
}

// allPlanned is the signal by which an event tells its lanes that no more rows
// will come. It has no argument.
const allPlanned = "all-planned"

const (
	// laneDeliveries limits the deliveries that a lane starts as children concurrently.
	laneDeliveries = 400
	// openBatches limits the batches of a lane. Most of them wait: for a worker, or for second
	// attempts.
	openBatches = 100
	// waitingPages limits the pages of a lane that waits. Each has up to 500 deliveries.
	waitingPages = 400
	// waitedHistory limits the history while children run, in events. After it, the lane waits
	// for its children and continues as new, since Temporal cancels the children of a
	// run that does so. That delays the rows that are not handed on yet: after some 1,000
	// deliveries, or several hundred batches.
	waitedHistory = 9_000
	// A lane that has caught up with the planning looks for new rows at intervals that double
	// from firstLook, or batchLook for batches, to seldomLook.
	firstLook, batchLook, seldomLook = time.Second, 250 * time.Millisecond, 10 * time.Second
)

// NotifyChannel makes the deliveries of a large event over one channel: those to send at
// once, or the deliveries that wait. So a channel with an outage does not delay the others. It works
// through the stored rows while the event still plans. It starts batches for a bulk event,
// pages for deliveries that wait, and otherwise one workflow per delivery. It ends after the
// event has signalled that all recipients are planned and its last child has ended.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := newOpenLane(ctx, in)
	l.listen(ctx)
	return endPart(ctx, l.part(notification.IDRange{}), l.run(ctx))
}
