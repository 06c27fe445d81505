package explain

import (
	"context"
	"slices"
	"time"

	"herald/internal/escalation"
	"herald/internal/event"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/report"
)

// Backlog counts the events in the outbox, the deliveries by result, and the follow-ups of
// receipts. It also holds the result of the last sweep.
type Backlog struct {
	notification.OutboxState
	OldestSeconds float64                      `json:"oldest_pending_seconds"` // 0: nothing is pending
	Deliveries    []report.DeliveryCount       `json:"deliveries"`
	Incomplete    int                          `json:"incomplete_events"` // ended, but the sweep has to start their PENDING deliveries
	Untold        []report.OutcomeCount        `json:"untold_events"`     // ended in the period, and told nobody or not everybody
	LastSweep     *notification.Sweep          `json:"last_sweep"`        // null: no sweep yet
	FollowUps     FollowUps                    `json:"follow_ups"`
	Providers     []notification.ProviderState `json:"providers"`         // that have rested, or that an operator has paused or chosen
	Senders       []notification.SenderState   `json:"senders,omitempty"` // paused, or above a quarter of a limit
}

// FollowUps is the lag of the follow-ups of deliveries.
type FollowUps struct {
	Pending       int     `json:"pending"` // counted up to a limit
	OldestSeconds float64 `json:"oldest_pending_seconds"`
}

// Backlog reads the state of the outbox, the follow-ups and the sweep. It counts the deliveries
// that were planned, and the events that missed recipients, during the last `since`.
func (e Explainer) Backlog(ctx context.Context, since time.Duration) (b Backlog, err error) {
	if b.OutboxState, err = event.On(e.DB).OutboxState(ctx); err != nil {
		return Backlog{}, err
	}
	b.OldestSeconds = b.OldestPending.Seconds()
	if b.Providers, err = limit.On(e.DB).ProviderStates(ctx); err != nil {
		return Backlog{}, err
	}
	if b.Senders, err = limit.On(e.DB).SenderStates(ctx); err != nil {
		return Backlog{}, err
	}
	b.Senders = slices.DeleteFunc(b.Senders, func(s notification.SenderState) bool { return s.Level() == notification.SenderFine })
	if b.Deliveries, err = e.reader().DeliveryCounts(ctx, since); err != nil {
		return Backlog{}, err
	}
	if b.Incomplete, err = e.reader().IncompleteEvents(ctx); err != nil {
		return Backlog{}, err
	}
	if b.Untold, err = e.reader().EndedEvents(ctx, since, notification.MendableOutcomes()...); err != nil {
		return Backlog{}, err
	}
	followUps, err := escalation.On(e.DB).FollowUpState(ctx)
	if err != nil {
		return Backlog{}, err
	}
	b.FollowUps = FollowUps{followUps.Pending, followUps.OldestPending.Seconds()}
	last, err := event.On(e.DB).LastSweep(ctx)
	if err != nil {
		return Backlog{}, err
	}
	if !last.At.IsZero() {
		b.LastSweep = &last
	}
	return b, nil
}
