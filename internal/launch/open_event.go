package launch

import (
	"context"
	"fmt"

	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"herald/workflows"
)

// OpenEvent is the running workflow of an event; the zero value: none runs.
type OpenEvent struct {
	RunID      string
	Generation int // the generation of the worker that completed the last task; 0: none has
}

// Replays reports whether workers of a generation can continue the workflow: a generation replays
// the commands of all older ones.
func (e OpenEvent) Replays(generation int) bool { return e.Generation <= generation }

// OpenEvent reads the workflow of an event, if it runs and belongs to this installation.
func (l *Launcher) OpenEvent(ctx context.Context, eventID string) (OpenEvent, error) {
	described, err := Describe(ctx, l.Client, eventID, "")
	if err != nil {
		return OpenEvent{}, err
	}
	info := described.GetWorkflowExecutionInfo()
	if info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetType().GetName() != workflows.NotifyEventType ||
		described.GetExecutionConfig().GetTaskQueue().GetName() != workflows.EventsQueue(l.Prefix) {
		return OpenEvent{}, nil
	}
	version := info.GetVersioningInfo().GetDeploymentVersion()
	return OpenEvent{RunID: info.GetExecution().GetRunId(), Generation: Generation(version.GetBuildId())}, nil
}

// publishActivity is the name of the activity that publishes an event to RabbitMQ.
const publishActivity = "PublishEvent"

// Publishes reads from the history of an event's last run whether the next run has to publish the
// event's message to RabbitMQ. If the history is gone, it has to.
func (l *Launcher) Publishes(ctx context.Context, eventID string) (bool, error) {
	scheduled := int64(0)
	history := l.Client.GetWorkflowHistory(ctx, eventID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		switch {
		case IsNotFound(err):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("read the history of %s: %w", eventID, err)
		case event.GetEventId() == 1:
			var input workflows.NotifyInput
			payloads := event.GetWorkflowExecutionStartedEventAttributes().GetInput()
			if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &input); err != nil {
				return false, fmt.Errorf("read the input of %s: %w", eventID, err)
			}
			if !input.Publish {
				return false, nil
			}
		case publishedLocally(event), scheduled > 0 && event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId() == scheduled:
			return false, nil
		case event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == publishActivity:
			scheduled = event.GetEventId()
		}
	}
	return true, nil
}

// publishedLocally reports whether an event is the marker of a successful local publish activity.
func publishedLocally(event *historypb.HistoryEvent) bool {
	marker := event.GetMarkerRecordedEventAttributes()
	if marker.GetMarkerName() != "LocalActivity" || marker.GetFailure() != nil {
		return false
	}
	var data struct{ ActivityType string }
	err := converter.GetDefaultDataConverter().FromPayloads(marker.GetDetails()["data"], &data)
	return err == nil && data.ActivityType == publishActivity
}
