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
	// StuckEvents and StuckDeliveries read a page of rows, and the id behind which the next
	// page begins; zero: that was the last page.
	StuckEvents(ctx context.Context, after string, waiting bool, age time.Duration, limit int) ([]notification.StuckEvent, string, error)
	StuckDeliveries(ctx context.Context, after int64, age time.Duration, limit int) ([]notification.StuckDelivery, int64, error)
	EventRestarted(ctx context.Context, eventID string) error
	DeliveryRestarted(ctx context.Context, deliveryID string) error
	EndStuckEvent(ctx context.Context, eventID string, outcome notification.EventOutcome, age time.Duration) error
}

// Sweeper is the part of Temporal that the sweep needs.
type Sweeper interface {
	// The state of another workflow that has the id is [WorkflowUnknown].
	EventWorkflow(ctx context.Context, eventID string) (WorkflowState, error)
	DeliveryWorkflow(ctx context.Context, deliveryID string, channel notification.Channel) (WorkflowState, error)
	// The two that start something return no error where it runs already, and a
	// [notification.IDTakenError] where another workflow that runs has the id.
	StartEventAgain(ctx context.Context, event notification.PendingEvent) error
	StartDeliveryAgain(ctx context.Context, delivery notification.StuckDelivery, policy DeliveryPolicy) error
}

const (
	// SweepHeartbeat bounds how long a dead worker goes unnoticed. It is above
	// what reading a page may take.
	SweepHeartbeat = time.Minute
	// sweepTime is the time that one sweep looks. Events that are due, deliveries and events that
	// wait by design have a third each, and time that one of them leaves goes to the next. The
	// next sweep continues where this one ended.
	sweepTime = 8 * time.Minute
	// stuckAge is the age that a row must have before its workflow is asked for.
	stuckAge = 15 * time.Minute
	// sweepPage is the number of rows that are read at once. What an operator does with
	// them meanwhile is not seen, so they are few.
	sweepPage = 100
	// sweepPace is the time from one question to Temporal to the next, so that
	// an installation with many waiting deliveries leaves Temporal to others.
	sweepPace = 10 * time.Millisecond
	// maxRestarts is the number of times that an event or a delivery is started again.
	maxRestarts = 3
	// maxGivenUp bounds the deliveries that one sweep gives up, and its history.
	maxGivenUp = 100
)

// SweepResult is the result of [Activities.Sweep].
type SweepResult struct {
	notification.Sweep
	GiveUp []GiveUpInput `json:",omitempty"` // deliveries that were started again in vain
}

// Sweep compares the tables with Temporal. It looks at events that are PROCESSING
// and deliveries that are PENDING for long, and whose workflow does not run. Where
// an operator ended the workflow, the row is closed too. Any other was lost in a
// failover, never started, or ended without recording it: it is started again,
// three times at most. The sweep describes each workflow, since Temporal's lists
// may be late.
//
// When its process dies, the next attempt continues behind the last row that was
// dealt with. Looking at a row twice does no harm.
func (a *Activities) Sweep(ctx context.Context) (SweepResult, error) {
	s, err := a.beginSweep(ctx)
	if err != nil {
		return SweepResult{}, err
	}
	defer s.pace.Stop()
	total := cmp.Or(a.SweepTime, sweepTime)
	for i, look := range []func(context.Context) error{s.events, s.deliveries, s.waitingEvents} {
		s.until = s.begin.Add(total * time.Duration(i+1) / 3)
		if err := look(ctx); err != nil {
			return SweepResult{}, err
		}
	}
	if err := a.Sweeps.RecordSweep(ctx, s.found.Sweep); err != nil {
		return SweepResult{}, err
	}
	countSweep(ctx, s.found.Sweep)
	return s.found, nil
}

// sweepRun is one sweep under way.
type sweepRun struct {
	*Activities
	found SweepResult
	begin time.Time
	until time.Time // ends the share of what is looked at now
	pace  *time.Ticker
	event struct { // the last one that was asked for: deliveries of one event stand side by side
		id    string
		state WorkflowState
	}
}

// beginSweep continues where this activity's last attempt ended, or else where the
// last sweep did.
func (a *Activities) beginSweep(ctx context.Context) (*sweepRun, error) {
	s := &sweepRun{Activities: a, begin: time.Now()}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &s.found); err != nil {
			return nil, fmt.Errorf("read how far the sweep came: %w", err)
		}
	} else {
		last, err := a.Sweeps.LastSweep(ctx)
		if err != nil {
			return nil, err
		}
		s.found.AfterEvent, s.found.AfterNotification = last.AfterEvent, last.AfterNotification
		s.found.AfterWaitingEvent = last.AfterWaitingEvent
	}
	s.pace = time.NewTicker(sweepPace)
	return s, nil
}

// eachRow looks at the rows page by page, at one page at least. read returns the page behind
// the row that see saw last, and where the next page begins. last is the id of that row, or
// zero once all rows were seen.
func eachRow[Row any, ID comparable](ctx context.Context, s *sweepRun, last *ID, id func(Row) ID, read func(after ID) ([]Row, ID, error), see func(context.Context, Row) error) error {
	for {
		page, next, err := read(*last)
		if err != nil {
			return err
		}
		for _, row := range page {
			if len(s.found.GiveUp) >= maxGivenUp {
				return nil
			}
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

// look waits until Temporal may be asked again, and counts the question.
func (s *sweepRun) look(ctx context.Context) error {
	select {
	case <-s.pace.C:
		s.found.Looked++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notStarted leaves what Temporal did not start to the next sweep. A restart is not
// counted: the refusal may be Temporal's trouble and not the row's.
func (s *sweepRun) notStarted(ctx context.Context, id string, err error) error {
	activity.GetLogger(ctx).Warn("the sweep cannot start a workflow again", "workflow_id", id, "error", err)
	return ctx.Err()
}
