package activities

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// SweepStore is the part of the database that the sweep needs.
type SweepStore interface {
	LastSweep(ctx context.Context) (notification.Sweep, error)
	RecordSweep(ctx context.Context, sweep notification.Sweep) error
	// StuckEvents and StuckDeliveries read a page of rows, and the id after which the next page
	// begins; zero: this was the last page.
	StuckEvents(ctx context.Context, after string, scan notification.StuckScan) ([]notification.StuckEvent, string, error)
	StuckDeliveries(ctx context.Context, after int64, scan notification.StuckScan) ([]notification.StuckDelivery, int64, error)
	OpenWork(ctx context.Context) (events, deliveries int, err error)
	EventIsOpen(ctx context.Context, eventID string) (bool, error)
	DeliveryIsOpen(ctx context.Context, deliveryID string) (bool, error)
	EventRestarted(ctx context.Context, eventID string) error
	DeliveryRestarted(ctx context.Context, deliveryID string) error
	// CountDeliveries counts the deliveries of the last hours for the console.
	CountDeliveries(ctx context.Context) error
	EndStuckEvent(ctx context.Context, eventID string, outcome notification.EventOutcome, age time.Duration) error
}

// ExpiredStore deletes rows that Herald needs no more. Each method deletes up to limit rows, and
// returns their number.
type ExpiredStore interface {
	DeleteThrottles(ctx context.Context, limit int) (int, error) // windows that are over
	DeleteTurns(ctx context.Context, limit int) (int, error)     // of destinations that nobody wanted for a day
	DeleteCounted(ctx context.Context, limit int) (int, error)
}

// ReputationStore is the part of the database that counts what receipts say of senders.
type ReputationStore interface {
	// CountReceipts counts a page of receipts that came after a time; nil: none was counted yet. It returns the
	// time up to which all receipts are counted.
	CountReceipts(ctx context.Context, after *time.Time) (to time.Time, more bool, err error)
	// JudgeSenders pauses the optional messages of the senders that exceed a limit.
	JudgeSenders(ctx context.Context) error
}

// Sweeper is the part of Temporal that the sweep needs.
type Sweeper interface {
	// The state of another workflow that has the id is [WorkflowUnknown].
	EventWorkflow(ctx context.Context, eventID string) (Execution, error)
	DeliveryWorkflow(ctx context.Context, deliveryID string, channel notification.Channel) (Execution, error)
	// Batch describes the n-th batch of an event's deliveries over a channel; n counts from 1.
	Batch(ctx context.Context, eventID string, channel notification.Channel, n int) (BatchExecution, error)
	// StartEventAgain and StartDeliveryAgain return no error if the workflow runs already, and a
	// [notification.IDTakenError] if another running workflow has the id.
	StartEventAgain(ctx context.Context, event notification.PendingEvent) error
	StartDeliveryAgain(ctx context.Context, delivery notification.StuckDelivery, policy DeliveryPolicy) error
}

const (
	// SweepHeartbeat is the time after which Temporal takes a sweep without heartbeats for
	// dead. Reading a page takes less.
	SweepHeartbeat = time.Minute
	// sweepTime is the duration of one sweep. Due events, deliveries, and events that wait by
	// design get a third each, in this order. Unused time goes to the next third. The next sweep
	// continues where this sweep ended.
	sweepTime = 8 * time.Minute
	// stuckAge is the age from which the sweep looks for a row's workflow.
	stuckAge = 15 * time.Minute
	// sweepPage is the number of rows that are read at once. It is small, because the sweep does
	// not see changes that an operator makes after the read.
	sweepPage = 100
	// sweepPace is the time between two calls to Temporal, so that an installation
	// with many waiting deliveries leaves Temporal's capacity to other callers.
	sweepPace = 10 * time.Millisecond
	// maxRestarts is the number of times that an event or a delivery is started again.
	maxRestarts = 3
	// deletePage is the number of rows that one statement deletes. A sweep runs maxDeletes such
	// statements for a table.
	deletePage, maxDeletes = 1000, 1000
	// maxCounts is the number of pages of receipts that one sweep counts.
	maxCounts = 100
)

// Sweep compares the tables with Temporal. It looks for old PROCESSING events and old PENDING
// deliveries whose workflow does not run. If an operator ended the workflow, the sweep closes the
// row too. If the workflow completed, the sweep counts the row as ambiguous, and leaves it to an operator.
// Any other workflow was lost in a failover, never started, or failed without a record. The
// sweep starts it again, three times at most. It asks Temporal for each workflow, because
// Temporal's lists may be out of date. The sweep also counts deliveries, and deletes expired rows
// of throttles and caps.
//
// When its process dies, the next attempt continues after the last handled row. A second check of a
// row does no harm.
func (a *Activities) Sweep(ctx context.Context) (notification.Sweep, error) {
	s, err := newSweepRun(ctx, a)
	if err != nil {
		return notification.Sweep{}, err
	}
	defer s.pace.Stop()
	if err := a.Sweeps.CountDeliveries(ctx); err != nil { // the next sweep counts again
		activity.GetLogger(ctx).Warn("the sweep cannot count deliveries", "error", Unquoted(err))
	}
	s.countReceipts(ctx)
	total := cmp.Or(a.SweepTime, sweepTime)
	due, waiting := notification.StuckScan{To: s.begin}, notification.StuckScan{From: s.begin}
	for i, look := range []func() error{
		func() error { return s.events(ctx, due, &s.found.AfterEvent) },
		func() error { return s.deliveries(ctx, due) },
		func() error { return s.events(ctx, waiting, &s.found.AfterWaitingEvent) },
	} {
		s.until = s.begin.Add(total * time.Duration(i+1) / 3)
		if err := look(); err != nil {
			return notification.Sweep{}, err
		}
	}
	if err := a.Sweeps.RecordSweep(ctx, s.found.Sweep); err != nil {
		return notification.Sweep{}, err
	}
	countOutcomes(activity.GetMetricsHandler(ctx), SweepMetric, map[string]int{
		sweepStartedAgain: s.found.StartedAgain, sweepClosed: s.found.Closed, sweepFailed: s.found.Failed,
	})
	s.deleteOver(ctx, "throttle windows that are over", a.Expired.DeleteThrottles)
	s.deleteOver(ctx, "tokens of unused destinations", a.Expired.DeleteTurns)
	s.deleteOver(ctx, "messages that no cap counts any more", a.Expired.DeleteCounted)
	return s.found.Sweep, nil
}

// countReceipts judges the senders by the receipts since the last sweep. If it fails, the next sweep
// continues.
func (s *sweepRun) countReceipts(ctx context.Context) {
	for range maxCounts {
		to, more, err := s.Reputation.CountReceipts(ctx, s.found.ReceiptsTo)
		if err != nil {
			activity.GetLogger(ctx).Warn("the sweep cannot count receipts", "error", Unquoted(err))
			return
		}
		s.found.ReceiptsTo = &to
		activity.RecordHeartbeat(ctx, s.found)
		if !more {
			break
		}
	}
	if err := s.Reputation.JudgeSenders(ctx); err != nil {
		activity.GetLogger(ctx).Warn("the sweep cannot judge the senders", "error", Unquoted(err))
	}
}

// deleteOver deletes rows page by page. If it fails, the next sweep deletes them.
func (s *sweepRun) deleteOver(ctx context.Context, what string, page func(ctx context.Context, limit int) (int, error)) {
	for range maxDeletes {
		deleted, err := page(ctx, deletePage)
		if err != nil {
			activity.GetLogger(ctx).Warn("the sweep cannot delete "+what, "error", Unquoted(err))
		}
		if err != nil || deleted < deletePage {
			return
		}
		activity.RecordHeartbeat(ctx, s.found)
	}
}

// sweepRun is the state of one [Activities.Sweep] or [Activities.Restore].
type sweepRun struct {
	*Activities
	found notification.Restored
	begin time.Time
	until time.Time // the end of the current part of the run
	pace  *time.Ticker
	age   time.Duration // rows that are younger are skipped
	kind  sweepKind

	resend notification.Resend // what to do with ambiguous rows; empty: only count them
	event  struct {            // the last event that was looked up: the deliveries of an event come one after the other
		id      string
		state   WorkflowState
		batches map[notification.Channel][]notification.IDRange // that completed
	}
}

// sweepKind determines how a run treats a row that lacks its workflow.
type sweepKind int

const (
	repairs  sweepKind = iota // starts the workflow, up to maxRestarts times
	restores                  // starts the workflow: Temporal lost it, so the row is not to blame
	counts                    // starts nothing, and ends nothing
)

// newSweepRun continues where this activity's last attempt ended, or else where the
// last sweep ended.
func newSweepRun(ctx context.Context, a *Activities) (*sweepRun, error) {
	s := &sweepRun{Activities: a, begin: time.Now(), age: stuckAge}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &s.found); err != nil {
			return nil, fmt.Errorf("read the progress of the last attempt: %w", err)
		}
	} else {
		last, err := a.Sweeps.LastSweep(ctx)
		if err != nil {
			return nil, err
		}
		s.found.AfterEvent, s.found.AfterNotification = last.AfterEvent, last.AfterNotification
		s.found.AfterWaitingEvent, s.found.ReceiptsTo = last.AfterWaitingEvent, last.ReceiptsTo
	}
	s.pace = time.NewTicker(sweepPace)
	return s, nil
}

// eachRow calls see with each row of at least one page. read returns the page after an id, and the
// id after which the next page begins. last is the id of the last row that see got, or zero after
// the last page.
func eachRow[Row any, ID comparable](
	ctx context.Context, s *sweepRun, last *ID, id func(Row) ID, read func(after ID) ([]Row, ID, error), see func(context.Context, Row) error,
) error {
	for {
		page, next, err := read(*last)
		if err != nil {
			return err
		}
		for _, row := range page {
			if err := see(ctx, row); err != nil {
				return err
			}
			*last = id(row)
			activity.RecordHeartbeat(ctx, s.found)
		}
		*last = next
		activity.RecordHeartbeat(ctx, s.found)
		if next == *new(ID) || !time.Now().Before(s.until) {
			return nil
		}
	}
}

// look waits for sweepPace before a call to Temporal, and counts the call.
func (s *sweepRun) look(ctx context.Context) error {
	select {
	case <-s.pace.C:
		s.found.Looked++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notStarted leaves a row to the next sweep if Temporal did not start its workflow. The restart
// does not count, because Temporal may be the cause.
func (s *sweepRun) notStarted(ctx context.Context, id string, err error) error {
	activity.GetLogger(ctx).Warn("the sweep cannot start a workflow again", "workflow_id", id, "error", err)
	return ctx.Err()
}
