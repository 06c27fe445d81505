package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// The activities of an event's topic. A broker out of reach is waited for; a record that
// is refused says itself when it is tried again.
var (
	produceOptions = eventOptions(30*time.Second, "send the event to its topic")
	markOptions    = eventOptions(time.Minute, "mark the event as sent in its table")
)

// produceEvent starts to send the event to its topic, if it has one, and does not wait.
func produceEvent(ctx workflow.Context, in NotifyInput) workflow.Future {
	done, settable := workflow.NewFuture(ctx)
	if in.Topic == nil {
		settable.Set(nil, nil)
		return done
	}
	workflow.Go(ctx, func(ctx workflow.Context) { settable.Set(nil, produce(ctx, in)) })
	return done
}

// produce sends the event to its topic. The topic has a queue of its own, so that a broker
// that hangs uses up no slot of planning.
func produce(ctx workflow.Context, in NotifyInput) error {
	topics := workflow.WithTaskQueue(ctx, TopicsQueue(workflow.GetInfo(ctx).TaskQueueName))
	input := activities.ProduceEventInput{EventID: in.EventID, Source: in.Source, Policy: *in.Topic}
	produced, err := execute[activities.ProduceEventResult](topics, produceOptions, acts.ProduceEvent, input)
	if err != nil || produced.Marked {
		return err
	}
	_, err = execute[any](topics, markOptions, acts.MarkProduced, activities.MarkProducedInput{EventID: in.EventID, Source: in.Source})
	return err
}
