package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
)

// actors play the activities of [activities.Activities], by the same names.
// What they do is up to the scenario, whose name begins every id.
type actors struct {
	temporal  client.Client
	scenarios map[string]*scenario
}

func newActors(temporal client.Client, all []*scenario) *actors {
	a := &actors{temporal: temporal, scenarios: map[string]*scenario{}}
	for _, s := range all {
		a.scenarios[s.name] = s
	}
	return a
}

func (a *actors) of(id string) *scenario {
	name, _, _ := strings.Cut(id, "-")
	return a.scenarios[name]
}

// PollOutbox ends at once twice, and from then on polls until it is cancelled.
func (a *actors) PollOutbox(ctx context.Context) (activities.PollOutboxResult, error) {
	s := a.of(activity.GetInfo(ctx).WorkflowExecution.ID)
	switch s.polls.Add(1) {
	case 1, 2:
		return activities.PollOutboxResult{Started: 1}, nil
	case 3:
		close(s.reached)
	}
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return activities.PollOutboxResult{}, nil
}

// Sweep finds what the scenario says.
func (a *actors) Sweep(ctx context.Context) (activities.SweepResult, error) {
	return *a.of(activity.GetInfo(ctx).WorkflowExecution.ID).swept, nil
}

// PlanDeliveries returns the scenario's pages, one after another.
func (a *actors) PlanDeliveries(_ context.Context, in activities.PlanInput) (activities.PlanResult, error) {
	s := a.of(in.EventID)
	if len(s.pages) == 0 {
		return activities.PlanResult{}, permanent("no such event in event_outbox", activities.NoSuchRow)
	}
	n := int(in.After.Number)
	planned := s.pages[n]
	planned.EventType, planned.Aggregate = "RESERVATION_REQUESTED", notification.Entity{Type: "RESTAURANT", ID: "5"}
	if n+1 < len(s.pages) {
		planned.Next = &notification.Cursor{Rank: 1, Number: int64(n + 1), UserID: "10", UserType: notification.RestaurantUser}
	}
	return planned, nil
}

// ListDeliveries returns two deliveries to a recipient of the page's own, and
// two others where those that wait are asked for.
func (a *actors) ListDeliveries(_ context.Context, in activities.ListInput) (activities.DeliveryBatch, error) {
	user, channels := strconv.FormatInt(in.IDs.First, 10), notification.Channels()
	if !in.Waiting {
		return batch(in.EventID, user, channels[:2]), nil
	}
	waiting := batch(in.EventID, user, channels[2:4])
	for i := range waiting.Deliveries {
		waiting.Deliveries[i].SendAfter = time.Now().UTC().Add(a.of(in.EventID).waits)
	}
	return waiting, nil
}

// PublishEvent succeeds, unless there is no event.
func (a *actors) PublishEvent(_ context.Context, in activities.PublishEventInput) (activities.PublishEventResult, error) {
	if len(a.of(in.EventID).pages) == 0 {
		return activities.PublishEventResult{}, permanent("no such event in event_outbox", activities.NoSuchRow)
	}
	return activities.PublishEventResult{Audiences: []string{"restaurant"}}, nil
}

// FinishEvent counts nothing.
func (a *actors) FinishEvent(context.Context, activities.FinishEventInput) (notification.Counts, error) {
	return notification.Counts{Deliveries: map[notification.Status]int{}, Decisions: map[notification.Decision]int{}}, nil
}

// Send answers as the scenario says, or else that it sent.
func (a *actors) Send(ctx context.Context, in activities.SendInput) (activities.SendResult, error) {
	s := a.of(in.DeliveryID)
	if s.send == nil {
		return activities.SendResult{Status: notification.Sent}, nil
	}
	return s.send(ctx, s, in)
}

// RecordSent succeeds.
func (a *actors) RecordSent(context.Context, notification.AttemptResult) error { return nil }

// GiveUp finds what the scenario says, or else nothing that was sent.
func (a *actors) GiveUp(_ context.Context, in activities.GiveUpInput) (notification.Status, error) {
	s := a.of(in.DeliveryID)
	if n := int(s.giveUps.Add(1)); n <= len(s.givenUp) {
		return s.givenUp[n-1], nil
	}
	return in.Status, nil
}

// ReopenDelivery finds what the scenario says, or else that it cannot be.
func (a *actors) ReopenDelivery(_ context.Context, in activities.ReopenInput) (activities.ReopenResult, error) {
	s := a.of(in.DeliveryID)
	if s.reopened == nil {
		return activities.ReopenResult{}, permanent("the recipient is no longer active", activities.NoText)
	}
	return *s.reopened, nil
}

func permanent(message, failureType string) error {
	return temporal.NewApplicationErrorWithOptions(message, failureType, temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign,
	})
}
