package replaytest

import (
	"slices"
	"strings"

	enums "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// transitions returns the pairs of consecutive steps of a history. A pair with a bar has a workflow
// task between its steps. A loop repeats its transitions, so its number of rounds does not matter.
func transitions(events []*historypb.HistoryEvent) map[string]bool {
	pairs, last, tasks := map[string]bool{}, "", ""
	activities := map[int64]string{}
	for _, event := range events {
		if event.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			tasks = "|"
			continue
		}
		step := stepOf(event, activities)
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
	enums.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED: true,
	enums.EVENT_TYPE_WORKFLOW_TASK_STARTED:   true,
	enums.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT: true,
	enums.EVENT_TYPE_ACTIVITY_TASK_STARTED:   true,
}

// stepOf returns the type of an event, and what it is about: an activity, a workflow, a signal, a
// cause or a failure. activities has the names of scheduled activities by the event's id.
func stepOf(event *historypb.HistoryEvent, activities map[int64]string) string {
	kind := event.GetEventType()
	if ignored[kind] {
		return ""
	}
	words := []string{kind.String()}
	if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
		activities[event.GetEventId()] = scheduled.GetActivityType().GetName()
	}
	if marker := event.GetMarkerRecordedEventAttributes(); marker != nil {
		return strings.Join(append(words, markerOf(marker)), " ")
	}
	message := event.ProtoReflect()
	attributes := message.WhichOneof(message.Descriptor().Oneofs().ByName("attributes"))
	message.Get(attributes).Message().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch field.Name() {
		case "activity_type", "workflow_type", "failure":
			words = append(words, nameOf(value.Message().Interface()))
		case "scheduled_event_id":
			words = append(words, activities[value.Int()])
		case "signal_name":
			words = append(words, value.String())
		case "cause":
			if field.Enum() == nil { // a person's words, of a cancel
				break
			}
			words = append(words, string(field.Enum().Values().ByNumber(value.Enum()).Name()))
		}
		return true
	})
	slices.Sort(words[1:]) // the fields come in any order
	return strings.TrimSpace(strings.Join(words, " "))
}

// nameOf returns the name of an activity's or a workflow's type, or the type of a failure.
func nameOf(message any) string {
	switch named := message.(type) {
	case interface{ GetName() string }:
		return named.GetName()
	case *failurepb.Failure:
		return typeOf(named)
	default:
		return ""
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
		_ = converter.GetDefaultDataConverter().FromPayloads(payloads, &data) // other markers have other data
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
