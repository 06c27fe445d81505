package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
)

// The activities of an event's topic. A broker out of reach is waited for; a record that
// is refused says itself when it is tried again.
var (
	produceOptions = eventOptions(30*time.Second, "send the event to its topic")
	markOptions    = eventOptions(time.Minute, "mark the event as sent in its table")
	anewOptions    = eventOptions(time.Minute, "begin to send the event to its topic again")
)

// produceEvent starts to send the event to its topic, if it has one, and does not wait. told
// is when nobody is told of the event any more.
func produceEvent(ctx workflow.Context, in NotifyInput, told workflow.Future) workflow.Future {
	done, settable := workflow.NewFuture(ctx)
	if in.Topic == nil {
		settable.Set(nil, nil)
		return done
	}
	workflow.Go(ctx, func(ctx workflow.Context) { settable.Set(nil, produceUntil(ctx, in, told)) })
	return done
}

// produceUntil sends the event to its topic. Where that refuses it for good, it does so again
// as often as [RetryTopic] says so before everybody was told: until then no retry can start
// another run.
func produceUntil(ctx workflow.Context, in NotifyInput, told workflow.Future) error {
	for {
		err := produce(ctx, in)
		if !isRefused(err) || !retriedBefore(ctx, told) {
			return err
		}
		input := activities.ReopenAtTopicInput{EventID: in.EventID, Source: in.Source}
		if _, err := execute[any](onTopicsQueue(ctx), anewOptions, acts.ReopenAtTopic, input); err != nil {
			return err
		}
	}
}

// isRefused says that the topic has refused the event for good.
func isRefused(err error) bool {
	var refused *temporal.ApplicationError
	return errors.As(err, &refused) && refused.Type() == activities.SinkRefused
}

// retriedBefore waits for the signal [RetryTopic], and says whether it came before told.
func retriedBefore(ctx workflow.Context, told workflow.Future) (retried bool) {
	selector := workflow.NewSelector(ctx)
	selector.AddReceive(workflow.GetSignalChannel(ctx, RetryTopic), func(signals workflow.ReceiveChannel, _ bool) {
		retried = signals.ReceiveAsync(nil)
	})
	selector.AddFuture(told, func(workflow.Future) {})
	selector.Select(ctx)
	return retried
}

// produce sends the event to its topic.
func produce(ctx workflow.Context, in NotifyInput) error {
	topics := onTopicsQueue(ctx)
	input := activities.ProduceEventInput{EventID: in.EventID, Source: in.Source, Policy: *in.Topic}
	produced, err := execute[activities.ProduceEventResult](topics, produceOptions, acts.ProduceEvent, input)
	if err != nil || produced.Marked {
		return err
	}
	_, err = execute[any](topics, markOptions, acts.MarkProduced, activities.MarkProducedInput{EventID: in.EventID, Source: in.Source})
	return err
}

// onTopicsQueue sends activities to the queue of topics, so that a broker that hangs uses up
// no slot of planning.
func onTopicsQueue(ctx workflow.Context) workflow.Context {
	return workflow.WithTaskQueue(ctx, TopicsQueue(workflow.GetInfo(ctx).TaskQueueName))
}
