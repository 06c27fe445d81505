package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/workflows"
)

const (
	// cleaningInterval is the time from one cleaning to the next.
	cleaningInterval = time.Hour
	// cleaningCatchup: cleanings that were missed longer ago are not made up for.
	cleaningCatchup = time.Minute
)

// ScheduleCleaning makes Temporal start [workflows.CleanOutboxes] of these outboxes every
// hour, and of no others from now on. None: the schedule is deleted. A cleaning that takes
// longer delays the next. An operator's pause stays.
func (l *Launcher) ScheduleCleaning(ctx context.Context, outboxes []activities.CleanOutboxInput) error {
	id := workflows.CleaningID(l.Prefix)
	schedule := l.Client.ScheduleClient().GetHandle(ctx, id)
	if len(outboxes) == 0 {
		var notFound *serviceerror.NotFound
		if err := schedule.Delete(ctx); err != nil && !errors.As(err, &notFound) {
			return fmt.Errorf("delete schedule %s: %w", id, err)
		}
		return nil
	}
	options := client.ScheduleOptions{
		ID:            id,
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: cleaningInterval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: cleaningCatchup,
		Action: &client.ScheduleWorkflowAction{
			ID:            id,
			Workflow:      workflows.CleanOutboxes,
			Args:          []any{workflows.CleanInput{Outboxes: outboxes}},
			TaskQueue:     workflows.EventsQueue(l.Prefix),
			StaticSummary: "deletes rows that are done from outboxes",
		},
	}
	_, err := l.Client.ScheduleClient().Create(ctx, options)
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = schedule.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: func(found client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			changed := found.Description.Schedule
			changed.Spec, changed.Action = &options.Spec, options.Action
			return &client.ScheduleUpdate{Schedule: &changed}, nil
		}})
	}
	if err != nil {
		return fmt.Errorf("schedule the cleaning of outboxes: %w", err)
	}
	return nil
}
