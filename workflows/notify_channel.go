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
	Bulk      bool  `json:",omitempty"` // the lane's deliveries go in batches
	Planned   bool  `json:",omitempty"` // all recipients are planned
	After     int64 `json:",omitempty"` // rows up to this notification.id have a workflow
	Parts     int   `json:",omitempty"` // the number of pages or batches so far
}

// event returns the lane's event.
func (in ChannelInput) event() batchEvent {
	return batchEvent{in.EventID, in.EventType, in.Aggregate}
}

// allPlanned is the signal by which an event tells its lanes that no more rows
// will follow. It has no argument.
const allPlanned = "all-planned"

const (
	// openPages limits the pages of a lane that send: each sends up to 100 deliveries at once.
	openPages = 4
	// openBatches limits the batches of a lane that send. Most of them wait for a worker or for second
	// attempts.
	openBatches = 100
	// waitingParts limits the pages and batches of a lane, also the waiting ones. Each has up to
	// 500 deliveries that wait.
	waitingParts = 400
	// waitedHistory limits the history while children run, in events. At the limit the lane waits
	// for its children and continues as new, because Temporal would cancel running children. The
	// wait delays further rows. It comes after several hundred pages or batches.
	waitedHistory = 9_000
	// If a lane has started all planned rows, it polls for new rows. The interval doubles from
	// firstLook, or batchLook for batches, to seldomLook.
	firstLook, batchLook, seldomLook = time.Second, 250 * time.Millisecond, 10 * time.Second
)

// NotifyChannel is a lane: it sends the deliveries of a large event over one channel, either the
// deliveries that wait or the deliveries without a wait. So an outage of one channel does not delay
// other channels. It works through the stored rows while the event still plans. It starts batches
// for a bulk event, and otherwise pages. It ends after its last child, once the event has signalled
// that all recipients are planned, or no longer has this lane. Rows that are stored late, below the
// last id, wait for the sweep.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := newOpenLane(ctx, in)
	l.listen(ctx)
	return endPart(ctx, l.part(notification.IDRange{}), l.run(ctx))
}
