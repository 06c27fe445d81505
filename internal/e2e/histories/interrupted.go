package main

import (
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// interruptedDeliveries are the outcomes of a delivery with which an operator
// interferes.
func interruptedDeliveries() []*scenario {
	tomorrow := time.Now().UTC().Add(24 * time.Hour)
	all := []*scenario{
		delivery("deliver_sent_now", notification.Email, tomorrow, nil),
		delivery("deliver_rescheduled", notification.Email, tomorrow, nil),
		delivery("deliver_cancelled_waiting", notification.Email, tomorrow, nil),
		delivery("deliver_cancelled_retrying", notification.Email, time.Time{}, outage),
		delivery("deliver_cancelled_too_late", notification.Email, time.Time{}, sentWhenReleased),
		delivery("deliver_cancelled_failing", notification.Email, time.Time{}, failedWhenReleased),
	}
	for i, meanwhile := range []func(context.Context, client.Client, *scenario) error{
		sendNow, reschedule, cancelWaiting, cancelRetrying, cancelSending, cancelSending,
	} {
		all[i].meanwhile = meanwhile
	}
	return all
}

func sendNow(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := happened(ctx, temporal, s.id, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
		return err
	}
	return temporal.SignalWorkflow(ctx, s.id, "", workflows.SendNow, nil)
}

// reschedule first sends what is not a time, which changes nothing.
func reschedule(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := happened(ctx, temporal, s.id, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
		return err
	}
	if err := temporal.SignalWorkflow(ctx, s.id, "", workflows.Reschedule, "tomorrow"); err != nil {
		return err
	}
	return temporal.SignalWorkflow(ctx, s.id, "", workflows.Reschedule, time.Now().UTC().Add(2*time.Second))
}

func cancelWaiting(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := happened(ctx, temporal, s.id, enums.EVENT_TYPE_TIMER_STARTED); err != nil {
		return err
	}
	return temporal.CancelWorkflow(ctx, s.id, "")
}

func cancelRetrying(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := backingOff(ctx, temporal, s.id); err != nil {
		return err
	}
	return temporal.CancelWorkflow(ctx, s.id, "")
}

// cancelSending cancels a delivery whose attempt then still comes to its end.
func cancelSending(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := cancelWhenReached(ctx, temporal, s); err != nil {
		return err
	}
	defer close(s.released)
	return happened(ctx, temporal, s.id, enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED)
}

func sentWhenReleased(ctx context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	return activities.SendResult{Status: notification.Sent}, s.hold(ctx)
}

func failedWhenReleased(ctx context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if err := s.hold(ctx); err != nil {
		return activities.SendResult{}, err
	}
	return activities.SendResult{}, unclear(0)
}

// hold says that an activity is where it should be, and keeps it there.
func (s *scenario) hold(ctx context.Context) error {
	close(s.reached)
	select {
	case <-s.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backingOff waits until a workflow, which may not have begun yet, has an
// activity that waits for its next attempt.
func backingOff(ctx context.Context, temporal client.Client, id string) error {
	return await(ctx, func() (bool, error) {
		described, err := temporal.DescribeWorkflowExecution(ctx, id, "")
		var early *serviceerror.NotFound
		if errors.As(err, &early) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, pending := range described.PendingActivities {
			if pending.Attempt > 1 && pending.State == enums.PENDING_ACTIVITY_STATE_SCHEDULED {
				return true, nil
			}
		}
		return false, nil
	})
}
