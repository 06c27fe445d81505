package explain

import (
	"context"
	"time"

	"herald/internal/notification"
	"herald/internal/postgres/report"
)

// Backlog tells how many events wait in the outbox, how deliveries went, what is still to be done
// after receipts, and what the last sweep found.
type Backlog struct {
	notification.OutboxState
	OldestSeconds float64                `json:"oldest_pending_seconds"` // 0: nothing is pending
	Deliveries    []report.DeliveryCount `json:"deliveries"`
	Incomplete    int                    `json:"incomplete_events"` // ended, and left deliveries PENDING to the sweep
	Untold        []report.OutcomeCount  `json:"untold_events"`     // ended in the time since, and told nobody, or not everybody
	LastSweep     *notification.Sweep    `json:"last_sweep"`        // null: there was none
	FollowUps     FollowUps              `json:"follow_ups"`
}

// FollowUps is the lag of what follows receipts, acknowledgements and readers.
type FollowUps struct {
	Pending       int     `json:"pending"` // counted up to a bound
	OldestSeconds float64 `json:"oldest_pending_seconds"`
}

// Backlog reads the state of the outbox, of what follows receipts and of the sweep, and counts the deliveries
// that were planned and the events that told nobody in the time since, up to now.
func (e Explainer) Backlog(ctx context.Context, since time.Duration) (b Backlog, err error) {
	if b.OutboxState, err = e.Store.OutboxState(ctx); err != nil {
		return Backlog{}, err
	}
	b.OldestSeconds = b.OldestPending.Seconds()
	if b.Deliveries, err = e.reader().DeliveryCounts(ctx, since); err != nil {
		return Backlog{}, err
	}
	if b.Incomplete, err = e.reader().IncompleteEvents(ctx); err != nil {
		return Backlog{}, err
	}
	if b.Untold, err = e.reader().UntoldEvents(ctx, since); err != nil {
		return Backlog{}, err
	}
	followUps, err := e.Store.FollowUpState(ctx)
	if err != nil {
		return Backlog{}, err
	}
	b.FollowUps = FollowUps{followUps.Pending, followUps.OldestPending.Seconds()}
	last, err := e.Store.LastSweep(ctx)
	if err != nil {
		return Backlog{}, err
	}
	if !last.At.IsZero() {
		b.LastSweep = &last
	}
	return b, nil
}
