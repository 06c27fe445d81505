package activities

import (
	"context"

	"herald/internal/notification"
)

// EventStore is what publishing and finishing an event need of the database.
type EventStore interface {
	Event(ctx context.Context, eventID string) (notification.Event, []notification.RecipientRule, error)
	FinishEvent(ctx context.Context, eventID string, success bool, outcome notification.EventOutcome) (notification.Counts, error)
}

// Broker publishes what others may consume. A nil error means that the broker
// has the message.
type Broker interface {
	PublishEvent(ctx context.Context, event notification.Event, audiences []string) error
	PublishDeadLetter(ctx context.Context, letter notification.DeadLetter) error
}

// PublishEventInput is the input of [Activities.PublishEvent].
type PublishEventInput struct {
	EventID string
}

// PublishEventResult is the result of [Activities.PublishEvent].
type PublishEventResult struct {
	Audiences []string // whose queues the message went to; empty: the event concerns none
}

// PublishEvent publishes an event's one generic message. A repeat has the same
// message id.
func (a *Activities) PublishEvent(ctx context.Context, in PublishEventInput) (PublishEventResult, error) {
	event, rules, err := a.Events.Event(ctx, in.EventID)
	if err != nil {
		return PublishEventResult{}, failure(err)
	}
	audiences := notification.Audiences(event, rules)
	if err := a.Broker.PublishEvent(ctx, event, audiences); err != nil {
		return PublishEventResult{}, retried(err)
	}
	return PublishEventResult{Audiences: audiences}, nil
}
