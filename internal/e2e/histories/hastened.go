package main

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// hastenedDeliveries are the outcomes of a delivery that is told to hurry, or to
// wait, when its first attempt has been made, or is under way.
func hastenedDeliveries() []*scenario {
	hastened := func(name string, send sendFunc, meanwhile meanwhileFunc) *scenario {
		s := delivery(name, notification.Email, time.Time{}, send)
		s.meanwhile = meanwhile
		return s
	}
	judging := hastened("deliver_sent_now_judging", heldAtFirst(activities.SendResult{Status: notification.Pending, NotBefore: time.Now().UTC().Add(aDay)}, nil), sendNowSending)
	in := judging.input[0].(workflows.DeliverInput)
	in.SendAfter = time.Now().UTC().Add(-time.Minute)
	judging.input[0] = in
	return []*scenario{
		hastened("deliver_sent_now_retrying", outageAtFirst, sendNowRetrying),
		hastened("deliver_rescheduled_retrying", outageAtFirst, rescheduleRetrying),
		hastened("deliver_sent_now_sending", sentWhenReleased, sendNowSending),
		hastened("deliver_sent_now_failing", heldAtFirst(activities.SendResult{}, unclear(10*time.Minute)), sendNowSending),
		hastened("deliver_sent_now_refused", heldAtFirst(activities.SendResult{}, permanent("sendgrid refused: 400", string(notification.Refused))), sendNowSending),
		judging,
	}
}

// retriedDeliveries are the outcomes of a fresh run, for which an operator asked.
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

// heldAtFirst keeps the first attempt under way until it is released, and
// answers it; each further one sends.
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

func sendNowRetrying(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := backingOff(ctx, temporal, s.id); err != nil {
		return err
	}
	return temporal.SignalWorkflow(ctx, s.id, "", workflows.SendNow, nil)
}

func rescheduleRetrying(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := backingOff(ctx, temporal, s.id); err != nil {
		return err
	}
	return temporal.SignalWorkflow(ctx, s.id, "", workflows.Reschedule, time.Now().UTC().Add(2*time.Second))
}

// sendNowSending hastens a delivery whose attempt then still comes to its end.
func sendNowSending(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := s.arrive(ctx); err != nil {
		return err
	}
	defer close(s.released)
	if err := temporal.SignalWorkflow(ctx, s.id, "", workflows.SendNow, nil); err != nil {
		return err
	}
	return happened(ctx, temporal, s.id, enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED)
}

// arrive waits until an activity is where it should be.
func (s *scenario) arrive(ctx context.Context) error {
	select {
	case <-s.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
