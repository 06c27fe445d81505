package launch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"herald/activities"
	"herald/workflows"
)

const (
	// sweepInterval is the time from one sweep to the next.
	sweepInterval = 10 * time.Minute
	// cleaningInterval is the time from one cleaning to the next.
	cleaningInterval = 15 * time.Minute
	// catchup is the maximum delay of a run; Temporal skips a run that would be later.
	catchup = time.Minute
)

// every returns the schedule of a workflow. While a run takes longer than the interval, the next
// run is skipped.
func (l *Launcher) every(interval time.Duration, action client.ScheduleWorkflowAction) client.ScheduleOptions {
	action.TaskQueue = workflows.EventsQueue(l.Prefix)
	return client.ScheduleOptions{
		ID:            action.ID,
		Spec:          client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: interval}}},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: catchup,
		Action:        &action,
	}
}

// SweepSchedule reports whether the sweep is scheduled, and whether its schedule is paused.
func (l *Launcher) SweepSchedule(ctx context.Context) (scheduled, paused bool, err error) {
	description, err := l.Client.ScheduleClient().GetHandle(ctx, workflows.SweepID(l.Prefix)).Describe(ctx)
	switch {
	case IsNotFound(err):
		return false, false, nil
	case err != nil:
		return false, false, fmt.Errorf("describe schedule %s: %w", workflows.SweepID(l.Prefix), err)
	default:
		return true, description.Schedule.State.Paused, nil
	}
}

// ScheduleSweep makes Temporal start a [workflows.Sweep] every ten minutes. It does not change an
// existing schedule.
func (l *Launcher) ScheduleSweep(ctx context.Context) error {
	_, err := l.Client.ScheduleClient().Create(ctx, l.every(sweepInterval, client.ScheduleWorkflowAction{
		ID: workflows.SweepID(l.Prefix), Workflow: workflows.Sweep, StaticSummary: "looks for lost workflows",
	}))
	if err != nil && !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("schedule the sweep: %w", err)
	}
	return nil
}

// Cleaning returns a function that makes Temporal start [workflows.CleanOutboxes] every 15 minutes, only
// for these outboxes and tables. Without any, it deletes the schedule. The first call changes a schedule
// with other outboxes, and keeps an operator's pause. A later call only creates a schedule that was lost.
func (l *Launcher) Cleaning(outboxes []activities.CleanOutboxInput) func(context.Context) error {
	id, changed := workflows.CleaningID(l.Prefix), false
	options := l.every(cleaningInterval, client.ScheduleWorkflowAction{
		ID: id, Workflow: workflows.CleanOutboxes, Args: []any{workflows.CleanInput{Outboxes: outboxes}},
		StaticSummary: "deletes rows that are done",
	})
	return func(ctx context.Context) error {
		schedule := l.Client.ScheduleClient().GetHandle(ctx, id)
		if len(outboxes) == 0 {
			return unlessGone(schedule.Delete(ctx), "delete schedule "+id)
		}
		_, err := l.Client.ScheduleClient().Create(ctx, options)
		if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
			if changed {
				return nil
			}
			renew := func(found client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
				renewed := found.Description.Schedule
				renewed.Spec, renewed.Action = &options.Spec, options.Action
				return &client.ScheduleUpdate{Schedule: &renewed}, nil
			}
			err = schedule.Update(ctx, client.ScheduleUpdateOptions{DoUpdate: renew})
		}
		if err != nil {
			return fmt.Errorf("schedule the cleaning: %w", err)
		}
		changed = true
		return nil
	}
}

// StartFollowUp starts the [workflows.FollowUp] of the installation, unless it already runs.
func (l *Launcher) StartFollowUp(ctx context.Context) error {
	options := client.StartWorkflowOptions{
		ID:                                       workflows.FollowUpID(l.Prefix),
		TaskQueue:                                workflows.EventsQueue(l.Prefix),
		StaticSummary:                            "handles the follow-ups of deliveries",
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}
	_, err := l.Client.ExecuteWorkflow(ctx, options, workflows.FollowUp)
	if err = l.unlessStarted(ctx, err, options, workflows.FollowUpType); err != nil {
		return fmt.Errorf("start %s: %w", options.ID, err)
	}
	return nil
}

// StartPoller starts the n-th poller of the input's source, unless it already runs. With anew, it terminates
// a running poller first. No claimed event is lost, because its lease expires.
func (l *Launcher) StartPoller(ctx context.Context, n int, in workflows.PollInput, anew bool) error {
	conflict := enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING
	if anew {
		conflict = enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	}
	options := client.StartWorkflowOptions{
		ID:                       workflows.PollerID(l.Prefix, in.Source, n),
		TaskQueue:                workflows.EventsQueue(l.Prefix),
		WorkflowIDConflictPolicy: conflict,
		StaticSummary:            "starts the workflows of pending events",
	}
	if _, err := l.Client.ExecuteWorkflow(ctx, options, workflows.PollOutbox, in); err != nil {
		return fmt.Errorf("start poller %d of %s: %w", n, in.Source, err)
	}
	return nil
}
