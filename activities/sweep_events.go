package activities

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/sdk/activity"

	"herald/internal/notification"
)

func (s *sweepRun) events(ctx context.Context) error {
	return s.eachEvent(ctx, false, &s.found.AfterEvent)
}

// waitingEvents looks at events that wait by design. They come last: they may be many, and a
// lost event is not late before its time.
func (s *sweepRun) waitingEvents(ctx context.Context) error {
	return s.eachEvent(ctx, true, &s.found.AfterWaitingEvent)
}

func (s *sweepRun) eachEvent(ctx context.Context, waiting bool, last *string) error {
	read := func(after string) ([]notification.StuckEvent, string, error) {
		return s.Sweeps.StuckEvents(ctx, after, waiting, stuckAge, sweepPage)
	}
	return eachRow(ctx, s, last, func(row notification.StuckEvent) string { return row.ID }, read, s.stuckEvent)
}

func (s *sweepRun) stuckEvent(ctx context.Context, event notification.StuckEvent) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	state, err := s.Sweeper.EventWorkflow(ctx, event.ID)
	switch {
	case err != nil || state == WorkflowRunning:
		return err
	case state.stopped() && !event.Restarting: // else a promotion of workers was interrupted
		s.found.Closed++
		return s.Sweeps.EndStuckEvent(ctx, event.ID, notification.EventCancelled, stuckAge)
	case event.Purged || (event.Restarts >= maxRestarts && !event.Restarting):
		return s.failEvent(ctx, event.ID, fmt.Sprintf("started again %d times in vain", event.Restarts))
	}
	event.Published = state == WorkflowCompleted // only the start of another run was lost
	err = s.Sweeper.StartEventAgain(ctx, event.PendingEvent)
	if taken, ok := errors.AsType[*notification.IDTakenError](err); ok {
		return s.failEvent(ctx, event.ID, taken.Error())
	}
	if err != nil {
		return s.notStarted(ctx, event.ID, err)
	}
	s.found.StartedAgain++
	return s.Sweeps.EventRestarted(ctx, event.ID)
}

func (s *sweepRun) failEvent(ctx context.Context, id, why string) error {
	activity.GetLogger(ctx).Error("the sweep gives an event up", "event_id", id, "reason", why)
	s.found.Failed++
	return s.Sweeps.EndStuckEvent(ctx, id, notification.EventFailed, stuckAge)
}
