package main

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// deliveries are the outcomes of a delivery that nobody interferes with.
func deliveries() []*scenario {
	soon := func() time.Time { return time.Now().UTC().Add(2 * time.Second) }
	return []*scenario{
		delivery("deliver_sent", notification.Email, time.Time{}, nil),
		delivery("deliver_retried", notification.Email, time.Time{}, outageOnce),
		delivery("deliver_failed", notification.Email, time.Time{}, outageUsedUp),
		delivery("deliver_refused", notification.SMS, time.Time{}, refuse),
		delivery("deliver_best_effort_failed", notification.Slack, time.Time{}, refuse),
		delivery("deliver_not_recorded", notification.Push, time.Time{}, sentUnrecorded),
		delivery("deliver_sent_before", notification.Email, time.Time{}, found(notification.Sent)),
		delivery("deliver_cancelled_before", notification.Email, time.Time{}, found(notification.Cancelled)),
		delivery("deliver_delayed", notification.Email, soon(), nil),
		delivery("deliver_deferred", notification.Email, soon(), quietOnce),
		delivery("deliver_dropped", notification.Email, soon(), quiet),
		delivery("deliver_opted_out", notification.Email, soon(), optedOut),
	}
}

func delivery(name string, channel notification.Channel, sendAfter time.Time, send sendFunc) *scenario {
	return &scenario{
		name: name, send: send, workflow: workflows.DeliverNotification, queue: workflows.ChannelQueue(prefix, channel),
		input: []any{workflows.DeliverInput{Channel: channel, SendAfter: sendAfter, Policy: policy(channel)}},
	}
}

type sendFunc = func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error)

// outage fails every attempt, and asks for a long pause.
func outage(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{}, unclear(10 * time.Minute)
}

func outageOnce(ctx context.Context, _ *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return activities.SendResult{}, unclear(300 * time.Millisecond)
	}
	return activities.SendResult{Status: notification.Sent}, nil
}

func outageUsedUp(ctx context.Context, _ *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if activity.GetInfo(ctx).Attempt < 3 {
		return activities.SendResult{}, unclear(0)
	}
	return activities.SendResult{}, permanent("sendgrid gave no clear answer: 503", activities.AttemptsExhausted)
}

func refuse(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{}, permanent("sendgrid refused: 400", string(notification.Refused))
}

func sentUnrecorded(_ context.Context, _ *scenario, in activities.SendInput) (activities.SendResult, error) {
	result := notification.AttemptResult{DeliveryID: in.DeliveryID, Number: 1, Outcome: notification.OutcomeSent, ProviderStatus: 200, ProviderID: "p1"}
	return activities.SendResult{Status: notification.Sent, Unrecorded: &result}, nil
}

func found(status notification.Status) sendFunc {
	return func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
		return activities.SendResult{Status: status}, nil
	}
}

// quietOnce meets quiet hours that end soon, and then none.
func quietOnce(_ context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if s.polls.Add(1) == 1 {
		return activities.SendResult{Status: notification.Pending, NotBefore: time.Now().UTC().Add(time.Second)}, nil
	}
	return activities.SendResult{Status: notification.Sent}, nil
}

func quiet(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{Status: notification.Pending, Quiet: true}, nil
}

// optedOut meets somebody who opted out while the delivery waited.
func optedOut(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{Status: notification.Pending, Dropped: "USER_DISABLED"}, nil
}

func unclear(retryAfter time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("sendgrid gave no clear answer: 503", string(notification.Ambiguous), temporal.ApplicationErrorOptions{
		NextRetryDelay: retryAfter, Category: temporal.ApplicationErrorCategoryBenign,
	})
}
