package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/internal/notification"
)

// ChannelInput is the input of [NotifyChannel]. The event sets the first seven fields. A long
// lane hands the other fields to its next run.
type ChannelInput struct {
	EventID   string
	EventType string
	Aggregate notification.Entity
	Lane      notification.Lane
	Bulk      bool  `json:",omitempty"` // the lane's deliveries go in batches
	Again     bool  `json:",omitempty"` // as in [NotifyInput]
	Planned   bool  `json:",omitempty"` // all recipients are planned
	After     int64 `json:",omitempty"` // rows up to this notification.id have a workflow
	Parts     int   `json:",omitempty"` // the number of pages or batches so far
}

// event returns the lane's event.
func (in ChannelInput) event() batchEvent {
	return batchEvent{in.EventID, in.EventType, in.Aggregate, in.Again}
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
// deliveries that may wait or the deliveries without a wait.
//
// # Overview
//
// Each channel has its own lanes, so an outage of one channel does not delay another, and deliveries
// that wait until the morning delay no others.
//
// A lane is a cursor (After) over the rows of its event, in the order of notification.id. It asks for
// the next stretch of undelivered rows, starts one child for them, and moves the cursor. So it works
// while the event still plans, and a history holds ranges of ids, not deliveries. The child is a
// [NotifyPage], with one workflow for each delivery, or, for the lane without waits of a bulk event, a
// [DeliverBatch]. A batch makes the first attempts in one activity. Only what is left or has failed gets
// workflows. While the event plans, a partial batch waits until no batch is open.
//
// Slots limit the children that send. A child that only waits gives its slot back, so it blocks no
// other child until waitingParts children are open.
//
// Nothing is lost: the last look finds no rows, and begins after the event has signalled that all
// recipients are planned. Rows that are stored late, below the cursor, wait for the sweep. Nothing is
// repeated: children skip rows that have ended, and leases keep two senders apart. A long lane waits
// for its children, and continues as new with its cursor.
//
// It ends after its last child, once all recipients are planned, or once its event no longer has it.
func NotifyChannel(ctx workflow.Context, in ChannelInput) error {
	l := newOpenLane(ctx, in)
	l.listen(ctx)
	return endPart(ctx, l.part(notification.IDRange{}), l.run(ctx))
}
