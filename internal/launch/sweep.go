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

	"herald/workflows"
)

const (
	// sweepInterval is the time from one sweep to the next.
	sweepInterval = 10 * time.Minute
	// sweepCatchup: sweeps that were missed longer ago are not made up for.
	sweepCatchup = time.Minute
)

// SweepSchedule says whether the sweep is scheduled, and whether its schedule is paused.
func (l *Launcher) SweepSchedule(ctx context.Context) (scheduled, paused bool, err error) {
	description, err := l.Client.ScheduleClient().GetHandle(ctx, workflows.SweepID(l.Prefix)).Describe(ctx)
	var notFound *serviceerror.NotFound
	switch {
	case errors.As(err, &notFound):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("look at schedule %s: %w", workflows.SweepID(l.Prefix), err)
	default:
		return true, description.Schedule.State.Paused, nil
	}
}

// ScheduleSweep makes Temporal start a [workflows.Sweep] every ten minutes, unless
// it does so already. A sweep that takes longer delays the next.
func (l *Launcher) ScheduleSweep(ctx context.Context) error {
	_, err := l.Client.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:            workflows.SweepID(l.Prefix),
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: sweepInterval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: sweepCatchup,
		Action: &client.ScheduleWorkflowAction{
			ID:            workflows.SweepID(l.Prefix),
			Workflow:      workflows.Sweep,
			TaskQueue:     workflows.EventsQueue(l.Prefix),
			StaticSummary: "looks for lost workflows",
		},
	})
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("schedule the sweep: %w", err)
	}
	return nil
}
