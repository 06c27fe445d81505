package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"herald/workflows"
)

// OpenEvent is the running workflow of an event; the zero value: none runs.
type OpenEvent struct {
	RunID      string
	Generation int  // the generation of its commands
	Versioned  bool // a worker with a version began the workflow: generation 4 or newer
	Topic      bool // the workflow feeds a topic itself, as in generation 3 and older
	Lanes      bool // the workflow has started a lane
}

// Replays reports whether workers of a generation can continue the workflow. Generation 4 has no
// code for the lanes and the topics of older generations. An older generation does not know the
// commands of a newer generation.
func (e OpenEvent) Replays(generation int) bool {
	switch {
	case e.Generation > generation:
		return false
	case generation <= Unversioned:
		return !e.Versioned
	default:
		return e.Versioned || !(e.Topic || e.Lanes)
	}
}

// startedInput holds the fields of [workflows.NotifyInput] that decide how to continue the event.
// Topic and TopicOnly are fields of older generations.
type startedInput struct {
	CommandVersion int `json:"Commands"`
	Publish        bool
	Topic          json.RawMessage
	TopicOnly      bool
}

func inputOf(started *historypb.HistoryEvent) (input startedInput, err error) {
	payloads := started.GetWorkflowExecutionStartedEventAttributes().GetInput()
	if err := converter.GetDefaultDataConverter().FromPayloads(payloads, &input); err != nil {
		return input, fmt.Errorf("read the input of an event's workflow: %w", err)
	}
	return input, nil
}

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
	return l.readBeginning(ctx, info.GetExecution())
}

// beginning is the number of events of a history that show whether the event has lanes: the first
// lane starts when the first page is planned.
const beginning = 50

func (l *Launcher) readBeginning(ctx context.Context, run *commonpb.WorkflowExecution) (OpenEvent, error) {
	open := OpenEvent{RunID: run.GetRunId()}
	history, err := l.Client.WorkflowService().GetWorkflowExecutionHistory(ctx, &workflowservice.GetWorkflowExecutionHistoryRequest{
		Namespace: cmp.Or(l.Namespace, client.DefaultNamespace), Execution: run, MaximumPageSize: beginning,
	})
	if err != nil {
		return open, fmt.Errorf("read the history of %s: %w", run.GetWorkflowId(), err)
	}
	begun := false
	for i, event := range history.GetHistory().GetEvents() {
		if i == 0 {
			input, err := inputOf(event)
			if err != nil {
				return open, err
			}
			open.Generation, open.Topic = input.CommandVersion, len(input.Topic) > 0
		}
		if done := event.GetWorkflowTaskCompletedEventAttributes(); done != nil && !begun {
			begun = true
			open.begunBy(Generation(done.GetDeploymentVersion().GetBuildId()))
		}
		child := event.GetStartChildWorkflowExecutionInitiatedEventAttributes()
		open.Lanes = open.Lanes || child.GetWorkflowType().GetName() == workflows.NotifyChannelType
	}
	return open, nil
}

// begunBy sets the generation of the worker that ran the first task. [workflows.NotifyEvent] issues
// no commands that are newer than this worker.
func (e *OpenEvent) begunBy(generation int) {
	if e.Versioned = generation > Unversioned; e.Versioned {
		e.Generation = min(e.Generation, generation)
	}
}

// publishActivity is the name of the activity that publishes an event to RabbitMQ.
const publishActivity = "PublishEvent"

// Remainder is the work of the next run of an event's workflow, in addition to its deliveries.
type Remainder struct {
	Publish   bool // publish the event's message to RabbitMQ
	TopicOnly bool // do nothing: the event has no recipients, and its source sends it to the topic
}

// EventRemainder reads the remaining work from the history of an event's last run. If the history
// is gone, the next run publishes.
func (l *Launcher) EventRemainder(ctx context.Context, eventID string) (left Remainder, err error) {
	left.Publish = true
	scheduled := int64(0)
	history := l.Client.GetWorkflowHistory(ctx, eventID, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() && left.Publish {
		event, err := history.Next()
		switch {
		case IsNotFound(err):
			return left, nil
		case err != nil:
			return left, fmt.Errorf("read the history of %s: %w", eventID, err)
		case event.GetEventId() == 1:
			input, err := inputOf(event)
			if err != nil {
				return left, err
			}
			left.Publish, left.TopicOnly = input.Publish, input.TopicOnly
		case publishedLocally(event), scheduled > 0 && event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId() == scheduled:
			left.Publish = false
		case event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName() == publishActivity:
			scheduled = event.GetEventId()
		}
	}
	return left, nil
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
