package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

var topic = activities.TopicPolicy{Retries: 5, RetryInterval: 100 * time.Millisecond}

// toTopic is the input of an event that only goes to a topic.
func toTopic() workflows.NotifyInput {
	in := notifyInput
	in.Topic, in.TopicOnly = &topic, true
	return in
}

// produces expects that the event is sent to its topic.
func (e *environment) produces(result activities.ProduceEventResult, err error) *testsuite.MockCallWrapper {
	in := activities.ProduceEventInput{EventID: eventID, Source: "orders", Policy: topic}
	return e.OnActivity(acts.ProduceEvent, mock.Anything, in).Return(result, err)
}

// An event that only goes to a topic is planned and published for nobody.
func TestNotifyEventOnlyToATopic(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.produces(activities.ProduceEventResult{Marked: true}, nil).Once()
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, toTopic())

	env.requireNotified(t, workflows.NotifyResult{})
}

// What the topic has and no table could be told is not sent again: only the marks are made.
func TestNotifyEventMarksWhatWasProduced(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.produces(activities.ProduceEventResult{}, nil).Once()
	marks, down := 0, errors.New("the database is out of reach")
	env.OnActivity(acts.MarkProduced, mock.Anything, activities.MarkProducedInput{EventID: eventID, Source: "orders"}).
		Return(func(context.Context, activities.MarkProducedInput) error {
			if marks++; marks < 4 {
				return down
			}
			return nil
		})
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, toTopic())

	env.requireNotified(t, workflows.NotifyResult{})
	require.Equal(t, 4, marks)
}

// People are told while the broker of the topic is waited for; the event ends after both.
func TestNotifyEventProducesBesideTheDeliveries(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	in := toTopic()
	in.TopicOnly = false
	start := env.Now()
	env.produces(activities.ProduceEventResult{}, errors.New("kafka cannot be reached")).Times(6)
	env.produces(activities.ProduceEventResult{Marked: true}, nil).Once()
	env.plans(notification.Cursor{}, onlyPage(batch(2)))
	env.finishes("")

	env.ExecuteWorkflow(workflows.NotifyEvent, in)

	env.requireNotified(t, workflows.NotifyResult{})
	require.Len(t, env.deliveries.started, 2)
	require.GreaterOrEqual(t, env.Now().Sub(start), (1+2+4+8+16+30)*time.Second)
}

// An event that its topic refuses for good has failed, and everybody was told.
func TestNotifyEventThatItsTopicRefuses(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	in := toTopic()
	in.TopicOnly = false
	env.produces(activities.ProduceEventResult{}, temporal.NewNonRetryableApplicationError("MESSAGE_TOO_LARGE", activities.SinkRefused, nil)).Once()
	env.plans(notification.Cursor{}, onlyPage(batch(2)))
	env.finishes("FAILED")

	env.ExecuteWorkflow(workflows.NotifyEvent, in)

	require.ErrorContains(t, env.GetWorkflowError(), "MESSAGE_TOO_LARGE")
	env.requireOutcome(t, "FAILED")
	require.Len(t, env.deliveries.started, 2)
}

// While people are still told of an event that its topic has refused for good, each signal
// sends it once more. It succeeds once its topic has it.
func TestNotifyEventSentToItsTopicAgain(t *testing.T) {
	t.Parallel()

	refused := temporal.NewNonRetryableApplicationError("UNKNOWN_TOPIC", activities.SinkRefused, nil)
	tests := []struct {
		name    string
		signals []time.Duration // the deliveries end after an hour
		ends    []error         // of each time that it is sent
		outcome notification.EventOutcome
	}{
		{name: "taken", signals: []time.Duration{time.Minute}, ends: []error{refused, nil}},
		{name: "refused again, and taken", signals: []time.Duration{time.Minute, 2 * time.Minute}, ends: []error{refused, refused, nil}},
		{name: "refused again", signals: []time.Duration{time.Minute}, ends: []error{refused, refused}, outcome: "FAILED"},
		{name: "taken already", signals: []time.Duration{time.Minute}, ends: []error{nil}},
		{name: "never", ends: []error{refused}, outcome: "FAILED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEventEnv(t)
			in := toTopic()
			in.TopicOnly = false
			sent := 0
			env.OnActivity(acts.ProduceEvent, mock.Anything, activities.ProduceEventInput{EventID: eventID, Source: "orders", Policy: topic}).
				Return(func(context.Context, activities.ProduceEventInput) (activities.ProduceEventResult, error) {
					sent++
					return activities.ProduceEventResult{Marked: true}, tt.ends[sent-1]
				})
			if len(tt.ends) > 1 {
				env.OnActivity(acts.ReopenAtTopic, mock.Anything, activities.ReopenAtTopicInput{EventID: eventID, Source: "orders"}).Return(nil).Times(len(tt.ends) - 1)
			}
			env.plans(notification.Cursor{}, onlyPage(batch(1)))
			env.deliveries.end = takes[workflows.DeliverInput](time.Hour)
			for _, at := range tt.signals {
				env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.RetryTopic, nil) }, at)
			}
			env.finishes(tt.outcome)

			env.ExecuteWorkflow(workflows.NotifyEvent, in)

			require.Len(t, tt.ends, sent)
			if tt.outcome == "" {
				env.requireNotified(t, workflows.NotifyResult{})
				return
			}
			require.ErrorContains(t, env.GetWorkflowError(), "UNKNOWN_TOPIC")
			env.requireOutcome(t, string(tt.outcome))
		})
	}
}

// An event that waits for its broker can be cancelled.
func TestNotifyEventCancelledBeforeItsTopic(t *testing.T) {
	t.Parallel()

	env := newEventEnv(t)
	env.produces(activities.ProduceEventResult{}, errors.New("kafka cannot be reached")).After(2 * time.Hour)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Hour)
	env.finishes("CANCELLED")

	env.ExecuteWorkflow(workflows.NotifyEvent, toTopic())

	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()))
	env.requireOutcome(t, "CANCELLED")
}
