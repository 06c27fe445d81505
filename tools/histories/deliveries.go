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

// deliveries returns the outcomes of a delivery without orders of an operator.
func deliveries() []*scenario {
	soon := time.Now().UTC().Add(2 * time.Second)
	return []*scenario{
		delivery("deliver_sent", notification.Email, time.Time{}, nil),
		delivery("deliver_retried", notification.Email, time.Time{}, outageOnce),
		delivery("deliver_failed", notification.Email, time.Time{}, outageUsedUp),
		delivery("deliver_refused", notification.SMS, time.Time{}, refuse),
		delivery("deliver_best_effort_failed", notification.Slack, time.Time{}, refuse),
		delivery("deliver_not_recorded", notification.Push, time.Time{}, sentUnrecorded),
		delivery("deliver_sent_before", notification.Email, time.Time{}, always(activities.SendResult{Status: notification.Sent}, nil)),
		delivery("deliver_cancelled_before", notification.Email, time.Time{}, always(activities.SendResult{Status: notification.Cancelled}, nil)),
		delivery("deliver_delayed", notification.Email, soon, nil),
		delivery("deliver_deferred", notification.Email, soon, quietOnce),
		delivery("deliver_dropped", notification.Email, soon, quiet),
		delivery("deliver_opted_out", notification.Email, soon, optedOut),
	}
}

// controlledDeliveries returns the outcomes of a delivery that an operator sends, reschedules or
// cancels: while it waits, between two attempts, or during an attempt.
func controlledDeliveries() []*scenario {
	now := time.Time{}
	past, tomorrow := time.Now().UTC().Add(-time.Minute), time.Now().UTC().Add(24*time.Hour)
	judged := heldAtFirst(activities.SendResult{Status: notification.Pending, NotBefore: tomorrow}, nil)
	failed := heldAtFirst(activities.SendResult{}, unclear(10*time.Minute))
	refused := heldAtFirst(activities.SendResult{}, permanent("sendgrid refused: 400", string(notification.Refused)))
	byMail := func(name string, sendAfter time.Time, send sendFunc, meanwhile ...step) *scenario {
		return delivery(name, notification.Email, sendAfter, send, meanwhile...)
	}
	return []*scenario{
		byMail("deliver_sent_now", tomorrow, nil, waiting, hasten),
		byMail("deliver_rescheduled", tomorrow, nil, waiting, signal(workflows.Reschedule, "tomorrow"), move), // the first signal has no time, and is ignored
		byMail("deliver_cancelled_waiting", tomorrow, nil, waiting, cancel),
		byMail("deliver_sent_now_retrying", now, outageAtFirst, retrying, hasten),
		byMail("deliver_rescheduled_retrying", now, outageAtFirst, retrying, move),
		byMail("deliver_cancelled_retrying", now, outage, retrying, cancel),
		byMail("deliver_sent_now_sending", now, sentWhenReleased, underWay, hasten, askedToStop, release),
		byMail("deliver_sent_now_failing", now, failed, underWay, hasten, askedToStop, release),
		byMail("deliver_sent_now_refused", now, refused, underWay, hasten, askedToStop, release),
		byMail("deliver_sent_now_judging", past, judged, underWay, hasten, askedToStop, release),
		byMail("deliver_cancelled_too_late", now, sentWhenReleased, underWay, cancel, askedToStop, release),
		byMail("deliver_cancelled_failing", now, heldAtFirst(activities.SendResult{}, unclear(0)), underWay, cancel, askedToStop, release),
	}
}

// firstAttempts returns the outcomes of a delivery whose first attempt is a local activity, or
// was made in a batch.
func firstAttempts() []*scenario {
	sent := activities.SendResult{Status: notification.Sent}
	failed := heldAtFirst(activities.SendResult{}, unclear(10*time.Minute))
	by := func(name string, channel notification.Channel, send sendFunc, meanwhile ...step) *scenario {
		s := delivery(name, channel, time.Time{}, send, meanwhile...)
		in := workflows.DeliverInput{Channel: channel, Policy: policy(channel)}
		in.Policy.Local = true
		s.input = []any{in}
		return s
	}
	late := by("deliver_first_cancelled_too_late", notification.Email, heldAtFirst(sent, nil), underWay, cancel, release)
	late.givenUp = []notification.Status{notification.Sent}
	elsewhere := delivery("deliver_next", notification.Email, time.Time{}, nil)
	elsewhere.input = []any{workflows.DeliverInput{Channel: notification.Email, Policy: policy(notification.Email), Next: time.Now().UTC().Add(2 * time.Second)}}
	return []*scenario{
		by("deliver_first_sent", notification.Email, nil),
		by("deliver_first_retried", notification.Email, outageOnce),
		by("deliver_first_left", notification.Email, atFirst(activities.SendResult{Status: notification.Pending, NotSent: true}, nil)),
		by("deliver_first_refused", notification.SMS, refuse),
		by("deliver_first_not_recorded", notification.Push, sentUnrecorded),
		by("deliver_first_opted_out", notification.Email, optedOut),
		by("deliver_first_cancelled_retrying", notification.Email, outage, waiting, cancel),
		by("deliver_first_sent_now_retrying", notification.Email, outageAtFirst, waiting, hasten),
		by("deliver_first_rescheduled_retrying", notification.Email, outageAtFirst, waiting, move),
		by("deliver_first_cancelled_failing", notification.Email, failed, underWay, cancel, release),
		by("deliver_first_sent_now_failing", notification.Email, failed, underWay, hasten, release),
		by("deliver_first_rescheduled_too_late", notification.Email, heldAtFirst(sent, nil), underWay, move, release),
		late, elsewhere,
	}
}

// retriedDeliveries returns the outcomes of a new run that an operator started.
func retriedDeliveries() []*scenario {
	retried := func(name string, again bool, reopened *activities.ReopenResult) *scenario {
		s := delivery(name, notification.Email, time.Time{}, nil)
		s.input = []any{workflows.DeliverInput{Channel: notification.Email, Retry: true, Again: again}}
		s.reopened = reopened
		return s
	}
	reopened := activities.ReopenResult{Status: notification.Pending, AttemptsBefore: 3, Policy: policy(notification.Email)}
	return []*scenario{
		retried("deliver_again", true, &reopened),
		retried("deliver_again_sent_before", false, &activities.ReopenResult{Status: notification.Delivered}),
		retried("deliver_again_to_nobody", false, nil),
	}
}

func delivery(name string, channel notification.Channel, sendAfter time.Time, send sendFunc, meanwhile ...step) *scenario {
	return &scenario{
		name: name, send: send, meanwhile: meanwhile, workflow: workflows.DeliverNotification, queue: workflows.ChannelQueue(prefix, channel),
		input: []any{workflows.DeliverInput{Channel: channel, SendAfter: sendAfter, Policy: policy(channel)}},
	}
}

type sendFunc = func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error)

var (
	outage        = always(activities.SendResult{}, unclear(10*time.Minute)) // it wants a long wait
	outageAtFirst = atFirst(activities.SendResult{}, unclear(10*time.Minute))
	refuse        = always(activities.SendResult{}, permanent("sendgrid refused: 400", string(notification.Refused)))
	quiet         = always(activities.SendResult{Status: notification.Pending, Quiet: true}, nil)
	optedOut      = always(activities.SendResult{Status: notification.Pending, Dropped: "USER_DISABLED"}, nil) // while the delivery waited
)

// always returns the same result to every attempt.
func always(result activities.SendResult, err error) sendFunc {
	return func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error) {
		return result, err
	}
}

func outageOnce(ctx context.Context, _ *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return activities.SendResult{}, unclear(300 * time.Millisecond)
	}
	return activities.SendResult{Status: notification.Sent}, nil
}

// atFirst returns a result to the first attempt. Later attempts send.
func atFirst(result activities.SendResult, err error) sendFunc {
	return func(_ context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
		if s.polls.Add(1) > 1 {
			return activities.SendResult{Status: notification.Sent}, nil
		}
		return result, err
	}
}

func outageUsedUp(ctx context.Context, _ *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if activity.GetInfo(ctx).Attempt < 3 {
		return activities.SendResult{}, unclear(0)
	}
	return activities.SendResult{}, permanent("sendgrid gave no clear answer: 503", activities.AttemptsExhausted)
}

func sentUnrecorded(_ context.Context, _ *scenario, in activities.SendInput) (activities.SendResult, error) {
	result := notification.AttemptResult{DeliveryID: in.DeliveryID, Number: 1, Outcome: notification.OutcomeSent, ProviderStatus: 200, ProviderID: "p1"}
	return activities.SendResult{Status: notification.Sent, Unrecorded: &result}, nil
}

// quietOnce returns quiet hours that end soon, once.
func quietOnce(_ context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if s.polls.Add(1) == 1 {
		return activities.SendResult{Status: notification.Pending, NotBefore: time.Now().UTC().Add(time.Second)}, nil
	}
	return activities.SendResult{Status: notification.Sent}, nil
}

// heldAtFirst keeps the first attempt in flight until it is released. Later attempts send.
func heldAtFirst(result activities.SendResult, err error) sendFunc {
	return func(ctx context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
		if s.polls.Add(1) > 1 {
			return activities.SendResult{Status: notification.Sent}, nil
		}
		if err := s.hold(ctx); err != nil {
			return activities.SendResult{}, err
		}
		return result, err
	}
}

func sentWhenReleased(ctx context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{Status: notification.Sent}, s.hold(ctx)
}

func unclear(retryAfter time.Duration) error {
	return temporal.NewApplicationErrorWithOptions("sendgrid gave no clear answer: 503", string(notification.Ambiguous), temporal.ApplicationErrorOptions{
		NextRetryDelay: retryAfter, Category: temporal.ApplicationErrorCategoryBenign,
	})
}
