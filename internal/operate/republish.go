package operate

import (
	"context"
	"time"

	"herald/internal/event"
	"herald/internal/notification"
)

// PlanRepublish counts the events written since a time whose message RabbitMQ has had.
func (o *Operator) PlanRepublish(ctx context.Context, since time.Time) (int, error) {
	return event.On(o.DB).CountPublished(ctx, since)
}

// Republish publishes the messages of these events again, with the same message ids. A worker does it, and
// continues if ctx ends. say gets the progress.
func (o *Operator) Republish(
	ctx context.Context, since time.Time, rate int, say func(notification.Republished),
) (done notification.Republished, err error) {
	if err := o.Record(ctx, o.Order.Flags, "event_outbox"); err != nil {
		return done, err
	}
	run, err := o.Launcher.StartRepublish(ctx, since, rate)
	if err != nil {
		return done, err
	}
	return awaitOrder[notification.Republished](ctx, o.temporal(), run, say)
}
