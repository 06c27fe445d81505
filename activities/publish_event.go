package activities

import (
	"context"

	"herald/internal/notification"
)

// EventStore is what publishing and finishing an event need of the database.
type EventStore interface {
	Event(ctx context.Context, eventID string) (notification.Event, []notification.EventRecipients, error)
	FinishEvent(ctx context.Context, end notification.EventEnd) (notification.Counts, error)
}

// PublishEventInput is the input of [Activities.PublishEvent].
type PublishEventInput struct {
	EventID string
	Source  string `json:",omitempty"` // empty: notification.HeraldSource
}

// PublishEventResult is the result of [Activities.PublishEvent].
type PublishEventResult struct {
	Audiences []string // whose queues the message went to; empty: the event concerns none
}

// PublishEvent publishes an event's message to every sink of its source. A repeat
// publishes to all of them again, with the same message id.
func (a *Activities) PublishEvent(ctx context.Context, in PublishEventInput) (PublishEventResult, error) {
	source, err := a.source(in.Source)
	if err != nil {
		return PublishEventResult{}, err
	}
	event, rules, err := a.Events.Event(ctx, in.EventID)
	if err != nil {
		return PublishEventResult{}, failure(err)
	}
	audiences := notification.Audiences(event, rules)
	for _, sink := range source.Sinks {
		if err := sink.PublishEvent(ctx, event, audiences); err != nil {
			return PublishEventResult{}, retried(err)
		}
	}
	return PublishEventResult{Audiences: audiences}, nil
}
