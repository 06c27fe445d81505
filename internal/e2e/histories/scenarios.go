package main

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// scenario is one workflow from its start to its end.
type scenario struct {
	name      string            // of the file
	also      map[string]string // files of its pages, by what follows its own id in theirs
	id        string
	queue     string
	workflow  any
	input     []any
	meanwhile func(context.Context, client.Client, *scenario) error // nil: nothing

	pages []activities.PlanResult // of an event; none: it cannot be planned
	waits time.Duration           // how long its deliveries that wait do
	send  func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error)

	reached, released chan struct{} // an activity is where it should be, and may go on
	polls             atomic.Int32
}

// files are the workflows to write down, by the name of their file.
func (s *scenario) files() map[string]string {
	files := map[string]string{s.name: s.id}
	for page, file := range s.also {
		files[file] = s.id + page
	}
	return files
}

// scenarios are all that are recorded. The stamp makes their ids new.
func scenarios(stamp string) []*scenario {
	poll := &scenario{name: "poll_cancelled", workflow: workflows.PollOutbox, queue: workflows.EventsQueue(prefix), meanwhile: cancelWhenReached}
	all := []*scenario{poll}
	all = append(all, events()...)
	all = append(all, deliveries()...)
	all = append(all, interruptedDeliveries()...)
	for _, s := range all {
		s.reached, s.released = make(chan struct{}), make(chan struct{})
		s.id = s.name + "-" + stamp
		s.prepare()
	}
	return all
}

// prepare makes the parts that name the scenario.
func (s *scenario) prepare() {
	for i, input := range s.input {
		switch in := input.(type) {
		case workflows.NotifyInput:
			in.EventID = s.id
			s.input[i] = in
		case workflows.DeliverInput:
			s.id += "-staff10-" + string(in.Channel)
			in.DeliveryID = s.id
			s.input[i] = in
		}
	}
	for i := range s.pages {
		if n := len(s.pages[i].Batch.Deliveries); n > 0 {
			s.pages[i].Batch = batch(s.id, "10", notification.Channels()[:n])
		}
	}
}

// batch is the deliveries to one recipient by some channels.
func batch(eventID, userID string, channels []notification.Channel) activities.DeliveryBatch {
	b := activities.DeliveryBatch{Policies: map[notification.Channel]activities.DeliveryPolicy{}}
	for _, channel := range channels {
		b.Deliveries = append(b.Deliveries, notification.Delivery{
			DeliveryID: notification.DeliveryID(eventID, notification.RestaurantUser, userID, channel),
			Channel:    channel, UserType: notification.RestaurantUser, UserID: userID, Priority: notification.High,
		})
		b.Policies[channel] = policy(channel)
	}
	return b
}

func policy(channel notification.Channel) activities.DeliveryPolicy {
	return activities.DeliveryPolicy{
		TaskQueue:   workflows.ChannelQueue(prefix, channel),
		MaxAttempts: 3, FirstRetry: 200 * time.Millisecond, Coefficient: 2, Timeout: 10 * time.Second,
	}
}

// cancelWhenReached cancels the workflow once its activity says so.
func cancelWhenReached(ctx context.Context, temporal client.Client, s *scenario) error {
	select {
	case <-s.reached:
		return temporal.CancelWorkflow(ctx, s.id, "")
	case <-ctx.Done():
		return ctx.Err()
	}
}
