package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
)

// actors replaces the activities of [activities.Activities] under the same names.
// The scenario, whose name begins every id, sets their results.
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

// PollOutbox starts one event in each of its first two calls.
func (a *actors) PollOutbox(ctx context.Context, _ activities.PollOutboxInput) (activities.PollOutboxResult, error) {
	return activities.PollOutboxResult{Started: a.findTwice(ctx)}, nil
}

// FollowUp handles one follow-up in each of its first two calls.
func (a *actors) FollowUp(ctx context.Context) (activities.FollowUpResult, error) {
	return activities.FollowUpResult{Done: a.findTwice(ctx)}, nil
}

// findTwice returns 1 in its first two calls. Later calls work until they are cancelled.
func (a *actors) findTwice(ctx context.Context) int {
	s := a.ofThis(ctx)
	switch s.polls.Add(1) {
	case 1, 2:
		return 1
	case 3:
		close(s.reached)
	}
	beatUntilCancelled(ctx)
	return 0
}

// CleanOutbox returns seven deleted rows.
func (a *actors) CleanOutbox(_ context.Context, in activities.CleanOutboxInput) (activities.CleanOutboxResult, error) {
	return activities.CleanOutboxResult{Source: in.Source, Deleted: 7}, nil
}

// Sweep returns the scenario's result.
func (a *actors) Sweep(ctx context.Context) (activities.SweepResult, error) {
	return *a.of(activity.GetInfo(ctx).WorkflowExecution.ID).swept, nil
}

// PlanDeliveries returns the scenario's pages, one after another. If the scenario has idle
// looks, the second page waits until the lane of the first page has looked and found nothing.
func (a *actors) PlanDeliveries(ctx context.Context, in activities.PlanInput) (activities.PlanResult, error) {
	s := a.of(in.EventID)
	if len(s.pages) == 0 {
		return activities.PlanResult{}, permanent("no such event in event_outbox", activities.NoSuchRow)
	}
	if s.away && activity.GetInfo(ctx).IsLocalActivity {
		return activities.PlanResult{}, errors.New("the database is away")
	}
	if s.planning {
		close(s.reached)
		beatUntilCancelled(ctx)
		return activities.PlanResult{}, fmt.Errorf("save plan: %w", ctx.Err()) // like a statement whose context ended
	}
	n := int(in.After.Number)
	if n == 1 && s.idle > 0 {
		select {
		case <-s.reached:
		case <-ctx.Done():
			return activities.PlanResult{}, ctx.Err()
		}
	}
	planned := s.pages[n]
	planned.EventType, planned.Aggregate = "RESERVATION_REQUESTED", notification.Entity{Type: "RESTAURANT", ID: "5"}
	if n+1 < len(s.pages) {
		planned.Next = &notification.Cursor{Rank: 1, Number: int64(n + 1), UserID: "10", UserType: notification.RestaurantUser}
	}
	return planned, nil
}

// beatUntilCancelled sends heartbeats until the activity learns that it is cancelled.
func beatUntilCancelled(ctx context.Context) {
	for ctx.Err() == nil {
		activity.RecordHeartbeat(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// NextDeliveries returns the scenario's stretches of a lane, one after another.
func (a *actors) NextDeliveries(_ context.Context, in activities.NextInput) (activities.NextResult, error) {
	s := a.of(in.EventID)
	var found activities.NextResult
	if s.idle > 0 && in.After == 0 && !in.Pending {
		switch looks := s.polls.Add(1); {
		case looks == s.idle+1:
			close(s.reached)
		case looks <= s.idle:
			return found, nil
		}
	}
	if next := in.After/10 + 1; next <= s.stretches && !in.Pending {
		found.IDRange = notification.IDRange{First: next * 10, Last: next*10 + 1}
		if in.Bulk {
			mail := policy(in.Lane.Channel)
			found.Policy, found.Priority = &mail, notification.Normal
		}
	}
	return found, nil
}

// ListDeliveries returns one delivery to each of two recipients of the part.
func (a *actors) ListDeliveries(_ context.Context, in activities.ListInput) (activities.ListResult, error) {
	channels := []notification.Channel{in.Lane.Channel}
	all := batch(in.EventID, strconv.FormatInt(in.IDs.First, 10), channels)
	all.Deliveries = append(all.Deliveries, batch(in.EventID, strconv.FormatInt(in.IDs.Last, 10), channels).Deliveries...)
	for i := range all.Deliveries {
		if in.Lane.Waiting {
			all.Deliveries[i].SendAfter = time.Now().UTC().Add(a.of(in.EventID).waits)
		}
	}
	return activities.ListResult{DeliveryBatch: all}, nil
}

// CancelPart reports that nothing is left to cancel.
func (a *actors) CancelPart(context.Context, activities.CancelPartInput) (activities.CancelPartResult, error) {
	return activities.CancelPartResult{}, nil
}

// AwaitHolder asks the server, like the real activity.
func (a *actors) AwaitHolder(ctx context.Context, in activities.HolderInput) (activities.HolderResult, error) {
	asking := &activities.Activities{Executions: &launch.Launcher{Client: a.temporal, Prefix: prefix}}
	return asking.AwaitHolder(ctx, in)
}

// PublishEvent fails if there is no event, or if the broker is away.
func (a *actors) PublishEvent(ctx context.Context, in activities.PublishEventInput) (activities.PublishEventResult, error) {
	s := a.of(in.EventID)
	if len(s.pages) == 0 {
		return activities.PublishEventResult{}, permanent("no such event in event_outbox", activities.NoSuchRow)
	}
	if s.away && activity.GetInfo(ctx).IsLocalActivity {
		return activities.PublishEventResult{}, errors.New("the broker is away")
	}
	return activities.PublishEventResult{Audiences: []string{"restaurant"}}, nil
}

// FinishEvent returns the scenario's outcome, without counts.
func (a *actors) FinishEvent(ctx context.Context, in activities.FinishEventInput) (notification.Counts, error) {
	s := a.of(in.EventID)
	if local := activity.GetInfo(ctx).IsLocalActivity; local && s.away {
		return notification.Counts{}, errors.New("the database is away")
	} else if local && s.finishing {
		if err := s.hold(ctx); err != nil {
			return notification.Counts{}, err
		}
	}
	return notification.Counts{
		Outcome:    cmp.Or(s.outcome, in.Outcome),
		Deliveries: map[notification.Status]int{}, Decisions: map[notification.Decision]int{},
	}, nil
}

// Send returns the scenario's result; without one, SENT.
func (a *actors) Send(ctx context.Context, in activities.SendInput) (activities.SendResult, error) {
	s := a.of(in.DeliveryID)
	if s.send == nil {
		return activities.SendResult{Status: notification.Sent}, nil
	}
	return s.send(ctx, s, in)
}

// SendFirst returns the same result as Send.
func (a *actors) SendFirst(ctx context.Context, in activities.SendInput) (activities.SendResult, error) {
	return a.Send(ctx, in)
}

// RecordSent succeeds.
func (a *actors) RecordSent(context.Context, notification.AttemptResult) error { return nil }

// GiveUp returns the scenario's status; without one, the wanted status.
func (a *actors) GiveUp(_ context.Context, in activities.GiveUpInput) (notification.Status, error) {
	s := a.of(in.DeliveryID)
	if n := int(s.giveUps.Add(1)); n <= len(s.givenUp) {
		return s.givenUp[n-1], nil
	}
	return in.Status, nil
}

// ReopenDelivery returns the scenario's result; without one, it fails.
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
