package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

func (s *sweep) events(ctx context.Context) error {
	for !s.spent() {
		page, err := s.Sweeps.StuckEvents(ctx, s.found.AfterEvent, stuckAge, sweepPage)
		if err != nil {
			return err
		}
		for _, event := range page {
			if err := s.stuckEvent(ctx, event); err != nil {
				return err
			}
			s.found.AfterEvent = event.ID
			activity.RecordHeartbeat(ctx, s.found)
		}
		if len(page) < sweepPage {
			s.found.AfterEvent = ""
			return nil
		}
	}
	return nil
}

func (s *sweep) stuckEvent(ctx context.Context, event notification.StuckEvent) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	state, err := s.Sweeper.EventState(ctx, event.ID)
	switch {
	case err != nil || state == WorkflowRunning:
		return err
	case state.stopped():
		s.found.Closed++
		return s.Sweeps.EndStuckEvent(ctx, event.ID, notification.EventCancelled, stuckAge)
	case event.Purged || event.Restarts >= maxRestarts:
		return s.failEvent(ctx, event.ID, fmt.Sprintf("started again %d times in vain", event.Restarts))
	}
	err = s.Sweeper.StartEventAgain(ctx, event.PendingEvent)
	if taken := new(notification.IDTakenError); errors.As(err, &taken) {
		return s.failEvent(ctx, event.ID, taken.Error())
	}
	if err != nil {
		return s.notStarted(ctx, event.ID, err)
	}
	s.found.StartedAgain++
	return s.Sweeps.EventRestarted(ctx, event.ID)
}

func (s *sweep) failEvent(ctx context.Context, id, why string) error {
	activity.GetLogger(ctx).Error("the sweep gives an event up", "event_id", id, "reason", why)
	s.found.Failed++
	return s.Sweeps.EndStuckEvent(ctx, id, notification.EventFailed, stuckAge)
}
