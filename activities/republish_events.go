package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// RepublishInput is the input of [Activities.RepublishEvents].
type RepublishInput struct {
	Since time.Time // events that were written before are left out
	Rate  int       // events a second
}

// republishPage is the number of events that are read at once.
const republishPage = 100

// RepublishEvents publishes the messages of events to RabbitMQ again, with the same message ids, such as
// after RabbitMQ has lost its queues. It leaves out the events whose message RabbitMQ has not had: their
// workflows publish it. When its process dies, the next attempt continues after the last event.
func (a *Activities) RepublishEvents(ctx context.Context, in RepublishInput) (notification.Republished, error) {
	done := notification.Republished{After: notification.EventPlace{CreatedAt: in.Since}}
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &done); err != nil {
			return done, fmt.Errorf("read the progress of the last attempt: %w", err)
		}
	}
	pace := time.NewTicker(time.Second / time.Duration(max(in.Rate, 1)))
	defer pace.Stop()
	for {
		page, err := a.Events.PublishedEvents(ctx, done.After, republishPage)
		if err != nil || len(page) == 0 {
			return done, err
		}
		for _, event := range page {
			select {
			case <-pace.C:
			case <-ctx.Done():
				return done, ctx.Err()
			}
			published, err := a.republish(ctx, event.ID)
			if err != nil {
				return done, err
			}
			if published {
				done.Events++
			} else {
				done.Refused++
			}
			done.After = event.EventPlace
			activity.RecordHeartbeat(ctx, done)
		}
	}
}

// republish publishes the message of an event. It returns false if RabbitMQ refuses the message.
func (a *Activities) republish(ctx context.Context, id string) (published bool, err error) {
	event, rules, err := a.Planner.Rows.Event(ctx, id)
	if errors.Is(err, notification.ErrNoEvent) { // deleted since it was read
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = a.Messages.PublishEvent(ctx, event, notification.Audiences(event, rules))
	if refused, ok := errors.AsType[*notification.ProviderError](err); ok && refused.Class == notification.Refused {
		activity.GetLogger(ctx).Warn("RabbitMQ does not take the message of an event", "event_id", id, "reason", refused.Error())
		return false, nil
	}
	return err == nil, retried(err)
}
