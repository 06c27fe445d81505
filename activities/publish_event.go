package activities

import (
	"context"

	"herald/internal/notification"
)

// EventStore is the part of the database that publishing and finishing an event need.
type EventStore interface {
	FinishEvent(ctx context.Context, end notification.EventEnd) (notification.Counts, error)
	// Acknowledge records that RabbitMQ has the message of an event.
	Acknowledge(ctx context.Context, eventID string) error
	// PublishedEvents reads a page of events whose message RabbitMQ has had, in the order of their writing.
	PublishedEvents(ctx context.Context, after notification.EventPlace, limit int) ([]notification.PublishedEvent, error)
}

// EventPublisher publishes the messages of events. A nil error means that the broker has the
// message.
type EventPublisher interface {
	PublishEvent(ctx context.Context, event notification.Event, audiences []string) error
}

// PublishEventInput is the input of [Activities.PublishEvent].
type PublishEventInput struct {
	EventID string
}

// PublishEventResult is the result of [Activities.PublishEvent].
type PublishEventResult struct {
	Audiences []string // the audiences whose queues got the message; empty: no queue got it
}

// PublishEvent publishes an event's message to RabbitMQ, and records that RabbitMQ has it. A repeat
// after a crash in between publishes it again, with the same message id. A message that is recorded is
// not published again, also if Temporal is back from a backup that does not know it.
func (a *Activities) PublishEvent(ctx context.Context, in PublishEventInput) (PublishEventResult, error) {
	event, rules, err := a.Planner.Rows.Event(ctx, in.EventID)
	if err != nil {
		return PublishEventResult{}, failure(err)
	}
	audiences := notification.Audiences(event, rules)
	if event.Published {
		return PublishEventResult{Audiences: audiences}, nil
	}
	if err := a.Messages.PublishEvent(ctx, event, audiences); err != nil {
		return PublishEventResult{}, retried(err)
	}
	if len(audiences) > 0 {
		if err := a.Events.Acknowledge(ctx, in.EventID); err != nil {
			return PublishEventResult{}, err
		}
	}
	return PublishEventResult{Audiences: audiences}, nil
}
