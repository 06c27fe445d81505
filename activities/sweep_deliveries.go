package activities

import (
	"context"
	"errors"
	"fmt"

	"herald/internal/notification"
)

func (s *sweepRun) deliveries(ctx context.Context) error {
	read := func(after int64) ([]notification.StuckDelivery, int64, error) {
		return s.Sweeps.StuckDeliveries(ctx, after, stuckAge, sweepPage)
	}
	return eachRow(ctx, s, &s.found.AfterNotification, func(row notification.StuckDelivery) int64 { return row.ID }, read, s.stuckDelivery)
}

// stuckDelivery restarts or closes a delivery if neither its workflow nor its event's workflow
// runs. An event's workflow runs until all pages of the event have ended.
func (s *sweepRun) stuckDelivery(ctx context.Context, delivery notification.StuckDelivery) error {
	event, err := s.stateOfEvent(ctx, delivery.EventID)
	if err != nil || event == WorkflowRunning {
		return err
	}
	if err := s.look(ctx); err != nil {
		return err
	}
	own, err := s.Sweeper.DeliveryWorkflow(ctx, delivery.DeliveryID, delivery.Channel)
	switch {
	case err != nil || own == WorkflowRunning:
		return err
	case own.stopped():
		return s.closeDelivery(ctx, delivery, own)
	case event.stopped():
		return s.closeDelivery(ctx, delivery, event)
	case delivery.Restarts >= maxRestarts:
		s.failDelivery(delivery, fmt.Sprintf("started again %d times in vain", delivery.Restarts))
		return nil
	}
	err = s.Sweeper.StartDeliveryAgain(ctx, delivery, s.Policies[delivery.Channel])
	if taken, ok := errors.AsType[*notification.IDTakenError](err); ok {
		s.failDelivery(delivery, taken.Error())
		return nil
	}
	if err != nil {
		return s.notStarted(ctx, delivery.DeliveryID, err)
	}
	s.found.StartedAgain++
	return s.Sweeps.DeliveryRestarted(ctx, delivery.DeliveryID)
}

func (s *sweepRun) stateOfEvent(ctx context.Context, id string) (WorkflowState, error) {
	if s.event.id == id {
		return s.event.state, nil
	}
	if err := s.look(ctx); err != nil {
		return "", err
	}
	state, err := s.Sweeper.EventWorkflow(ctx, id)
	if err == nil {
		s.event.id, s.event.state = id, state
	}
	return state, err
}

// closeDelivery records that an operator ended the workflow. A delivery that was
// sent meanwhile stays sent.
func (s *sweepRun) closeDelivery(ctx context.Context, delivery notification.StuckDelivery, how WorkflowState) error {
	status, err := s.GiveUp(ctx, GiveUpInput{
		DeliveryID: delivery.DeliveryID, Channel: delivery.Channel, Status: notification.Cancelled, Reason: string(how),
	})
	if status == notification.Cancelled {
		s.found.Closed++
	}
	return err
}

// failDelivery hands the delivery to the sweep's workflow, which gives it up. The history keeps
// the dead letter safe from a crash.
func (s *sweepRun) failDelivery(delivery notification.StuckDelivery, why string) {
	s.found.Failed++
	s.found.GiveUp = append(s.found.GiveUp, GiveUpInput{
		DeliveryID: delivery.DeliveryID, Channel: delivery.Channel, Status: notification.Failed, Reason: why,
	})
}
