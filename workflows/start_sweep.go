package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/internal/notification"
)

const (
	// sweepInterval is the time from one sweep to the next.
	sweepInterval = 10 * time.Minute
	// sweepCatchup: sweeps that were missed longer ago are not made up for.
	sweepCatchup = time.Minute
)

// SweepID is the id of the schedule that starts the sweeps, and the beginning of
// their workflow IDs.
func SweepID(prefix string) string { return prefix + "-sweep" }

// ScheduleSweep makes Temporal start a [Sweep] every ten minutes, unless it does
// so already. One that takes longer delays the next.
func (s *Starter) ScheduleSweep(ctx context.Context) error {
	_, err := s.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:            SweepID(s.Prefix),
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: sweepInterval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: sweepCatchup,
		Action: &client.ScheduleWorkflowAction{
			ID:            SweepID(s.Prefix),
			Workflow:      Sweep,
			TaskQueue:     EventsQueue(s.Prefix),
			StaticSummary: "looks for lost workflows",
		},
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("schedule the sweep: %w", err)
	}
	return nil
}

// EventState tells what became of an event's workflow.
func (s *Starter) EventState(ctx context.Context, eventID string) (activities.WorkflowState, error) {
	return s.state(ctx, eventID, notifyEventType, EventsQueue(s.Prefix))
}

// DeliveryState tells what became of a delivery's workflow.
func (s *Starter) DeliveryState(ctx context.Context, deliveryID string, channel notification.Channel) (activities.WorkflowState, error) {
	return s.state(ctx, deliveryID, deliverNotificationType, ChannelQueue(s.Prefix, channel))
}

func (s *Starter) state(ctx context.Context, id, workflowType, queue string) (activities.WorkflowState, error) {
	found, err := s.Execution(ctx, id)
	if err != nil || found.Type != workflowType || found.TaskQueue != queue {
		return activities.WorkflowUnknown, err
	}
	return found.State, nil
}

// StartEventAgain starts an event's workflow, however an earlier one ended. What
// that one planned and sent is not planned and sent once more.
func (s *Starter) StartEventAgain(ctx context.Context, event notification.PendingEvent) error {
	options := s.eventOptions(event)
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	return s.startEvent(ctx, options)
}

// StartDeliveryAgain starts a delivery's workflow, however an earlier one ended,
// as its event's would have. What was to be sent at once has waited by now, so
// its time is that of its planning: quiet hours are judged anew.
func (s *Starter) StartDeliveryAgain(ctx context.Context, lost notification.StuckDelivery, policy activities.DeliveryPolicy) error {
	options := s.retryOptions(RetryInput{
		DeliveryID: lost.DeliveryID, Channel: lost.Channel, EventID: lost.EventID, EventType: lost.EventType, Aggregate: lost.Aggregate,
		UserType: lost.UserType, UserID: lost.UserID, Priority: lost.Priority,
	})
	options.StaticSummary = fmt.Sprintf("%s to %s/%s, started again by the sweep", lost.Channel, lost.UserType, lost.UserID)
	in := DeliverInput{DeliveryID: lost.DeliveryID, Channel: lost.Channel, SendAfter: lost.SendAfter, Wait: lost.Wait, Digest: lost.Digest, Policy: policy}
	if !in.Digest && in.SendAfter.IsZero() {
		in.SendAfter = lost.CreatedAt.UTC()
	}
	_, err := s.Client.ExecuteWorkflow(ctx, options, DeliverNotification, in)
	return s.orStarted(ctx, err, options, deliverNotificationType)
}
