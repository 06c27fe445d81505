package main

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"

	"herald/activities"
	"herald/workflows"
)

// topics are the ways of events to their topics, and the taking back of an event.
func topics() []*scenario {
	only := toTopic(event("notify_topic_only"), true)
	beside := toTopic(event("notify_topic", small()), true)
	marked := toTopic(event("notify_topic_marked_late"), true)
	marked.unmarked = true
	refused := toTopic(event("notify_topic_refused"), false)
	again := toTopic(event("notify_topic_again", small()), false, true)
	again.send = emailWhenReleased
	again.meanwhile = []step{underWay, showing(enums.EVENT_TYPE_ACTIVITY_TASK_FAILED), signal(workflows.RetryTopic, nil), sentAgain, release}
	taking := event("notify_cancels", small())
	taking.input = []any{workflows.NotifyInput{Commands: 1, Cancels: "evt-0"}}
	return []*scenario{only, beside, marked, refused, again, taking}
}

// toTopic sends an event to its topic, which takes it or not each time that it is sent. An
// event without pages is told to nobody.
func toTopic(s *scenario, taken ...bool) *scenario {
	s.taken = taken
	s.input = []any{workflows.NotifyInput{
		Source: "orders", Commands: 1, TopicOnly: len(s.pages) == 0, Publish: len(s.pages) > 0,
		Topic: &activities.TopicPolicy{Retries: 5, RetryInterval: 100 * time.Millisecond},
	}}
	return s
}

// sentAgain is when the workflow has sent the event to its topic once more.
var sentAgain = showing(enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED)

// ProduceEvent plays the topic as the scenario says.
func (a *actors) ProduceEvent(ctx context.Context, _ activities.ProduceEventInput) (activities.ProduceEventResult, error) {
	s := a.of(activity.GetInfo(ctx).WorkflowExecution.ID)
	if n := s.polls.Add(1); !s.taken[n-1] {
		return activities.ProduceEventResult{}, permanent("UNKNOWN_TOPIC_OR_PARTITION", activities.SinkRefused)
	}
	return activities.ProduceEventResult{Marked: !s.unmarked}, nil
}

// MarkProduced makes the marks.
func (a *actors) MarkProduced(context.Context, activities.MarkProducedInput) error { return nil }

// ReopenAtTopic begins an event anew.
func (a *actors) ReopenAtTopic(context.Context, activities.ReopenAtTopicInput) error { return nil }

// CancelEvent finds nothing left to cancel.
func (a *actors) CancelEvent(context.Context, activities.CancelEventInput) (activities.CancelEventResult, error) {
	return activities.CancelEventResult{}, nil
}
