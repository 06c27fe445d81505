package main

import (
	"context"
	"errors"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"herald/workflows"
)

// step is a wait or an action while a scenario's workflow runs.
type step = func(ctx context.Context, temporal client.Client, s *scenario) error

// take runs the steps in order.
func (s *scenario) take(ctx context.Context, temporal client.Client, steps []step) error {
	for _, step := range steps {
		if err := step(ctx, temporal, s); err != nil {
			return err
		}
	}
	return nil
}

// waiting waits until the workflow waits.
var waiting = showing(enums.EVENT_TYPE_TIMER_STARTED)

// showing waits until the history has events of these types, in this order.
func showing(types ...enums.EventType) step {
	return func(ctx context.Context, temporal client.Client, s *scenario) error {
		return happened(ctx, temporal, s.id, types...)
	}
}

// retrying waits until the workflow waits for the next attempt of an activity.
func retrying(ctx context.Context, temporal client.Client, s *scenario) error {
	return backingOff(ctx, temporal, s.id)
}

// underWay waits until the scenario's activity has reached its hold.
func underWay(ctx context.Context, _ client.Client, s *scenario) error {
	select {
	case <-s.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release lets that activity continue.
func release(_ context.Context, _ client.Client, s *scenario) error {
	close(s.released)
	return nil
}

func cancel(ctx context.Context, temporal client.Client, s *scenario) error {
	return temporal.CancelWorkflow(ctx, s.id, "")
}

// signal sends a signal. A duration means the time after it.
func signal(name string, argument any) step {
	return func(ctx context.Context, temporal client.Client, s *scenario) error {
		if in, ok := argument.(time.Duration); ok {
			return temporal.SignalWorkflow(ctx, s.id, "", name, time.Now().UTC().Add(in))
		}
		return temporal.SignalWorkflow(ctx, s.id, "", name, argument)
	}
}

var (
	hasten = signal(workflows.SendNow, nil)
	move   = signal(workflows.Reschedule, 2*time.Second)
	// The attempt in flight ends after the workflow has asked it to stop.
	askedToStop = showing(enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED)
)

// hold reports that an activity has reached its hold, and keeps it there.
func (s *scenario) hold(ctx context.Context) error {
	close(s.reached)
	select {
	case <-s.released:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// backingOff waits until an activity of a workflow waits for its next attempt.
func backingOff(ctx context.Context, temporal client.Client, id string) error {
	return awaitDescribed(ctx, temporal, id, func(found *workflowservice.DescribeWorkflowExecutionResponse) bool {
		return slices.ContainsFunc(found.GetPendingActivities(), func(pending *workflowpb.PendingActivityInfo) bool {
			return pending.Attempt > 1 && pending.State == enums.PENDING_ACTIVITY_STATE_SCHEDULED
		})
	})
}

// awaitDescribed waits until a workflow fulfils a condition. The workflow may not exist yet.
func awaitDescribed(ctx context.Context, temporal client.Client, id string, as func(*workflowservice.DescribeWorkflowExecutionResponse) bool) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		found, err := temporal.DescribeWorkflow(ctx, id, "")
		var early *serviceerror.NotFound
		if err == nil && as(found.RawResponse) {
			return nil
		}
		if err != nil && !errors.As(err, &early) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
