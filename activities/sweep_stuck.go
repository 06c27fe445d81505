package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

// events looks at the events of a scan. The events that wait by design come last, because they may be
// many, and none of them is due yet.
func (s *sweepRun) events(ctx context.Context, scan notification.StuckScan, last *string) error {
	scan.Age, scan.Limit = s.age, sweepPage
	read := func(after string) ([]notification.StuckEvent, string, error) {
		return s.Sweeps.StuckEvents(ctx, after, scan)
	}
	return eachRow(ctx, s, last, func(row notification.StuckEvent) string { return row.ID }, read, s.stuckEvent)
}

func (s *sweepRun) stuckEvent(ctx context.Context, event notification.StuckEvent) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	found, err := s.Sweeper.EventWorkflow(ctx, event.ID)
	if err != nil || found.State == WorkflowRunning {
		return err
	}
	open, err := s.Sweeps.EventIsOpen(ctx, event.ID) // it may have ended since it was read
	switch {
	case err != nil || !open:
		return err
	case found.endedAfter(event.ReopenedAt):
		return s.ambiguousEvent(ctx, event)
	case s.kind == counts:
		s.found.MissingEvents++
		s.found.AddMissing(event.ID)
		return nil
	case found.State.stopped():
		return s.closeEvent(ctx, event.ID, found.State)
	case event.Purged || s.usedUp(event.Restarts, found.State):
		return s.failEvent(ctx, event.ID, fmt.Sprintf("started again %d times in vain", event.Restarts))
	}
	err = s.Sweeper.StartEventAgain(ctx, event.PendingEvent)
	if taken, ok := errors.AsType[*notification.IDTakenError](err); ok {
		return s.failEvent(ctx, event.ID, taken.Error())
	}
	if err != nil {
		return s.notStarted(ctx, event.ID, err)
	}
	s.found.StartedAgain++
	if s.kind == restores {
		return nil
	}
	return s.Sweeps.EventRestarted(ctx, event.ID)
}

// usedUp reports whether a row was started again too often.
func (s *sweepRun) usedUp(restarts int, state WorkflowState) bool {
	return s.kind == repairs && restarts >= maxRestarts && state != WorkflowRolledBack
}

// closeEvent cancels the unsent deliveries of an event that an operator stopped, and then ends the
// event. After a reset of the event, the workflows of its deliveries may still run. If the process dies
// between the two steps, the next sweep repeats both.
func (s *sweepRun) closeEvent(ctx context.Context, id string, state WorkflowState) error {
	reason := notification.TerminatedInTemporal
	if state == WorkflowCancelled {
		reason = notification.CancelledInTemporal
	}
	cancelled, err := s.cancelAll(ctx, id, reason)
	s.found.Closed += cancelled
	if err != nil {
		return err
	}
	s.found.Closed++
	return s.Sweeps.EndStuckEvent(ctx, id, notification.EventCancelled, s.age)
}

func (s *sweepRun) failEvent(ctx context.Context, id, why string) error {
	activity.GetLogger(ctx).Error("the sweep gives up an event", "event_id", id, "reason", why)
	s.found.Failed++
	return s.Sweeps.EndStuckEvent(ctx, id, notification.EventFailed, s.age)
}

func (s *sweepRun) deliveries(ctx context.Context, scan notification.StuckScan) error {
	scan.Age, scan.Limit = s.age, sweepPage
	read := func(after int64) ([]notification.StuckDelivery, int64, error) {
		return s.Sweeps.StuckDeliveries(ctx, after, scan)
	}
	return eachRow(ctx, s, &s.found.AfterNotification, func(row notification.StuckDelivery) int64 { return row.ID }, read, s.stuckDelivery)
}

// stuckDelivery restarts or closes a delivery if neither its workflow nor its event's workflow
// runs. An event's workflow runs until all pages of the event have ended.
func (s *sweepRun) stuckDelivery(ctx context.Context, delivery notification.StuckDelivery) error {
	event, err := s.stateOfEvent(ctx, delivery.EventID)
	if err != nil || (event == WorkflowRunning && !delivery.Retried) {
		return err
	}
	if err := s.look(ctx); err != nil {
		return err
	}
	own, err := s.Sweeper.DeliveryWorkflow(ctx, delivery.DeliveryID, delivery.Channel)
	if err != nil || own.State == WorkflowRunning {
		return err
	}
	ambiguous, err := s.isAmbiguous(ctx, delivery, event, own)
	if err != nil {
		return err
	}
	open, err := s.Sweeps.DeliveryIsOpen(ctx, delivery.DeliveryID)
	switch {
	case err != nil || !open:
		return err
	case ambiguous && !event.stopped():
		return s.ambiguousDelivery(ctx, delivery)
	case s.kind == counts:
		s.found.MissingDeliveries++
		s.found.AddMissing(delivery.DeliveryID)
		return nil
	case own.State.stopped():
		return s.endDelivery(ctx, delivery, notification.Cancelled, string(own.State))
	case event.stopped():
		return s.endDelivery(ctx, delivery, notification.Cancelled, string(event))
	case s.usedUp(delivery.Restarts, own.State):
		return s.endDelivery(ctx, delivery, notification.Failed, fmt.Sprintf("started again %d times in vain", delivery.Restarts))
	}
	started, err := s.startDelivery(ctx, delivery)
	if err != nil || !started {
		return err
	}
	s.found.StartedAgain++
	if s.kind == restores {
		return nil
	}
	return s.Sweeps.DeliveryRestarted(ctx, delivery.DeliveryID)
}

// startDelivery starts a delivery's workflow again, and returns whether it did.
func (s *sweepRun) startDelivery(ctx context.Context, delivery notification.StuckDelivery) (started bool, err error) {
	err = s.Sweeper.StartDeliveryAgain(ctx, delivery, s.Policies[delivery.Channel])
	if taken, ok := errors.AsType[*notification.IDTakenError](err); ok {
		return false, s.endDelivery(ctx, delivery, notification.Failed, taken.Error())
	}
	if err != nil {
		return false, s.notStarted(ctx, delivery.DeliveryID, err)
	}
	return true, nil
}

func (s *sweepRun) stateOfEvent(ctx context.Context, id string) (WorkflowState, error) {
	if s.event.id == id {
		return s.event.state, nil
	}
	if err := s.look(ctx); err != nil {
		return "", err
	}
	found, err := s.Sweeper.EventWorkflow(ctx, id)
	if err == nil {
		s.event.id, s.event.state = id, found.State
		s.event.batches = map[notification.Channel][]notification.IDRange{}
	}
	return found.State, err
}

// endDelivery ends a delivery that is not started again. A delivery that was sent meanwhile stays
// SENT. A delivery without a row needs no end.
func (s *sweepRun) endDelivery(ctx context.Context, delivery notification.StuckDelivery, status notification.Status, why string) error {
	ended, err := s.giveUp(ctx, delivery, status, why)
	switch ended {
	case notification.Cancelled:
		s.found.Closed++
	case notification.Failed:
		s.found.Failed++
	}
	return err
}

// giveUp ends a delivery and returns its new status; empty: it has no row any more.
func (s *sweepRun) giveUp(
	ctx context.Context, delivery notification.StuckDelivery, status notification.Status, why string,
) (notification.Status, error) {
	ended, err := s.GiveUp(ctx, GiveUpInput{DeliveryID: delivery.DeliveryID, Channel: delivery.Channel, Status: status, Reason: why})
	if IsPermanent(err) {
		return "", nil
	}
	return ended, err
}
