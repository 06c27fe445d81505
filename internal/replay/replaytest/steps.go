package replaytest

import (
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
)

// transitions returns the pairs of consecutive steps of a history. A pair with a bar has a workflow
// task between its steps. A loop repeats its transitions, so its number of rounds does not matter.
func transitions(events []*historypb.HistoryEvent) map[string]bool {
	pairs, last, tasks := map[string]bool{}, "", ""
	names := map[int64]string{}
	for _, event := range events {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = "|"
			continue
		}
		step := stepOf(event, names)
		if step == "" {
			continue
		}
		pairs[strings.Join([]string{last, tasks, step}, " ")] = true
		last, tasks = step, ""
	}
	return pairs
}

// ignored are the events that say nothing about a workflow's code.
var ignored = map[enums.EventType]bool{
	enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: true, enums.EVENT_TYPE_WORKFLOW_TASK_STARTED: true, enums.EVENT_TYPE_ACTIVITY_TASK_STARTED: true,
}

// stepOf returns the type of an event, and what it is about: an activity, a child, a signal, or a
// failure. names has what an event with the id began.
func stepOf(event *historypb.HistoryEvent, names map[int64]string) string {
	kind := event.GetEventType()
	if ignored[kind] {
		return ""
	}
	about, began := aboutOf(event)
	if began != 0 {
		about = strings.TrimSpace(names[began] + " " + about)
	} else {
		names[event.GetEventId()] = about
	}
	return strings.TrimSpace(kind.String() + " " + about)
}

// aboutOf returns what an event is about, and the id of the event that began it; 0: it begins
// something itself.
func aboutOf(event *historypb.HistoryEvent) (about string, began int64) {
	switch event.GetEventType() {
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		return event.GetActivityTaskScheduledEventAttributes().GetActivityType().GetName(), 0
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		return "", event.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()
	case enums.EVENT_TYPE_ACTIVITY_TASK_FAILED:
		failed := event.GetActivityTaskFailedEventAttributes()
		return typeOf(failed.GetFailure()), failed.GetScheduledEventId()
	case enums.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT:
		return "", event.GetActivityTaskTimedOutEventAttributes().GetScheduledEventId()
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
		return "", event.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId()
	case enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
		return "", event.GetActivityTaskCanceledEventAttributes().GetScheduledEventId()
	case enums.EVENT_TYPE_MARKER_RECORDED:
		return markerOf(event.GetMarkerRecordedEventAttributes()), 0
	case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED:
		return event.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowType().GetName(), 0
	case enums.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED:
		return "", event.GetStartChildWorkflowExecutionFailedEventAttributes().GetInitiatedEventId()
	case enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED:
		return "", event.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()
	case enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED:
		return "", event.GetChildWorkflowExecutionCompletedEventAttributes().GetInitiatedEventId()
	case enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_FAILED:
		return "", event.GetChildWorkflowExecutionFailedEventAttributes().GetInitiatedEventId()
	case enums.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_CANCELED:
		return "", event.GetChildWorkflowExecutionCanceledEventAttributes().GetInitiatedEventId()
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED:
		return event.GetWorkflowExecutionSignaledEventAttributes().GetSignalName(), 0
	case enums.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED:
		return event.GetSignalExternalWorkflowExecutionInitiatedEventAttributes().GetSignalName(), 0
	case enums.EVENT_TYPE_WORKFLOW_TASK_FAILED:
		return event.GetWorkflowTaskFailedEventAttributes().GetCause().String(), 0
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED:
		return typeOf(event.GetWorkflowExecutionFailedEventAttributes().GetFailure()), 0
	default:
		return "", 0
	}
}

// markerOf returns the name of a marker, and the result of a local activity.
func markerOf(marker *historypb.MarkerRecordedEventAttributes) string {
	if marker.GetMarkerName() != "LocalActivity" {
		return marker.GetMarkerName()
	}
	name := ActivityOf(marker)
	if marker.GetFailure() != nil {
		name += " " + typeOf(marker.GetFailure())
	}
	return name
}

// ActivityOf returns the name of the local activity of a marker; empty: it is another marker.
func ActivityOf(marker *historypb.MarkerRecordedEventAttributes) string {
	var data struct{ ActivityType string }
	if payloads, ok := marker.GetDetails()["data"]; ok {
		_ = converter.GetDefaultDataConverter().FromPayloads(&commonpb.Payloads{Payloads: payloads.GetPayloads()}, &data) // other markers have other data
	}
	return data.ActivityType
}

// typeOf returns the type of a failure's cause, or "failure" without a type.
func typeOf(failure *failurepb.Failure) string {
	for ; failure != nil; failure = failure.GetCause() {
		if found := failure.GetApplicationFailureInfo().GetType(); found != "" {
			return found
		}
	}
	return "failure"
}

// endOf returns the last event of a workflow in a word: completed, failed, canceled, timedout,
// terminated, continued, or open.
func endOf(events []*historypb.HistoryEvent) string {
	name, ended := strings.CutPrefix(events[len(events)-1].GetEventType().String(), "WorkflowExecution")
	switch {
	case !ended || name == "Started" || name == "Signaled" || name == "CancelRequested" || name == "OptionsUpdated":
		return "open"
	case name == "ContinuedAsNew":
		return "continued"
	default:
		return strings.ToLower(name)
	}
}
