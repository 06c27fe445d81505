// Package replay replays the histories of workflows with this build's code.
package replay

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"herald/workflows"
)

// Fetch reads the history of a run from Temporal. If runID is empty, it reads the latest run.
func Fetch(ctx context.Context, temporal client.Client, id, runID string) (events []*historypb.HistoryEvent, err error) {
	history := temporal.GetWorkflowHistory(ctx, id, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", id, err)
		}
		events = append(events, event)
	}
	return events, nil
}

// Begun reports whether a worker has completed a task of the workflow. Without one, there is nothing
// to replay.
func Begun(events []*historypb.HistoryEvent) bool { return lastTask(events) >= 0 }

// Run replays a history that has begun. It sends and writes nothing. The error is the SDK's
// description of where this build diverges; nil: it does what was recorded.
func Run(events []*historypb.HistoryEvent, interceptors ...interceptor.WorkerInterceptor) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors:             interceptors,
		DisableDeadlockDetection: true, // on a busy machine, a step may take longer than the limit of one second
	})
	if err != nil {
		return err
	}
	for _, f := range workflows.All() {
		replayer.RegisterWorkflow(f)
	}
	events = events[:endOfTask(events, lastTask(events))] // the workflow has not processed later events yet
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), &historypb.History{Events: events})
}

// lastTask returns the index of the last event that completed a workflow task; -1: there is none.
func lastTask(events []*historypb.HistoryEvent) int {
	for i, event := range slices.Backward(events) {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			return i
		}
	}
	return -1
}

// endOfTask returns the index after the events that record the commands of a workflow task.
func endOfTask(events []*historypb.HistoryEvent, task int) int {
	end := task + 1
	for end < len(events) && recordsCommand(events[task].GetEventId(), events[end]) {
		end++
	}
	return end
}

// recordsCommand reports whether an event records a command of the workflow task.
func recordsCommand(task int64, event *historypb.HistoryEvent) bool {
	message := event.ProtoReflect()
	attributes := message.WhichOneof(message.Descriptor().Oneofs().ByName("attributes"))
	if attributes == nil {
		return false
	}
	of := message.Get(attributes).Message()
	field := of.Descriptor().Fields().ByName("workflow_task_completed_event_id")
	return field != nil && of.Get(field).Int() == task
}
