package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/activities"
	"herald/internal/notification"
	"herald/internal/planner"
)

// eventStore is an EventStore with one event, which it plans, too.
type eventStore struct {
	planner.Rows
	event notification.Event
	rules []notification.EventRecipients
	err   error

	counts   notification.Counts
	finished notification.EventEnd

	published    []notification.PublishedEvent
	acknowledged []string
	unrecorded   error // the error of Acknowledge; nil: none
}

func (e *eventStore) Acknowledge(_ context.Context, eventID string) error {
	e.acknowledged = append(e.acknowledged, eventID)
	return e.unrecorded
}

func (e *eventStore) Event(context.Context, string) (notification.Event, []notification.EventRecipients, error) {
	return e.event, e.rules, e.err
}

func (e *eventStore) FinishEvent(_ context.Context, end notification.EventEnd) (notification.Counts, error) {
	e.finished = end
	return e.counts, e.err
}

func (e *eventStore) PublishedEvents(_ context.Context, after notification.EventPlace, limit int) ([]notification.PublishedEvent, error) {
	var page []notification.PublishedEvent
	for _, event := range e.published {
		if event.Seq > after.Seq && len(page) < limit {
			page = append(page, event)
		}
	}
	return page, e.err
}

func publish(store *eventStore, mq *broker) (activities.PublishEventResult, error) {
	a := &activities.Activities{Events: store, Planner: planner.Planner{Rows: store}, Messages: mq}
	return run[activities.PublishEventResult](a, a.PublishEvent, activities.PublishEventInput{EventID: "evt-1"})
}

func TestPublishEvent(t *testing.T) {
	t.Parallel()

	staffAndCustomer := []notification.EventRecipients{
		{UserType: notification.Customer, Audience: "customer", EntityType: "CUSTOMER", EntityIDPath: "customerId"},
		{EntityType: "RESTAURANT", EntityIDPath: "restaurantId"},
		{UserType: notification.RestaurantUser, Audience: "restaurant", EntityType: "RESTAURANT", EntityIDPath: "restaurantId"},
	}
	for _, tt := range []struct {
		aggregate string
		rules     []notification.EventRecipients
		want      []string
	}{
		{aggregate: "RESTAURANT", rules: staffAndCustomer, want: []string{"restaurant"}},
		{aggregate: "RESERVATION", rules: staffAndCustomer, want: []string{"restaurant", "customer"}},
		{aggregate: "RESERVATION"},
	} {
		event := notification.Event{
			ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: tt.aggregate, AggregateID: "5", CorrelationID: "corr-1",
		}
		mq, store := &broker{}, &eventStore{event: event, rules: tt.rules}
		require.Equal(t, activities.PublishEventResult{Audiences: tt.want}, must(publish(store, mq))(t))
		require.Equal(t, []notification.Event{event}, mq.events)
		require.Equal(t, tt.want, mq.audiences)
		require.Equal(t, len(tt.want) > 0, len(store.acknowledged) == 1)
	}
}

// An event whose message is recorded is not published again.
func TestPublishEventOnce(t *testing.T) {
	t.Parallel()

	store, mq := &eventStore{}, &broker{}
	store.event.Published = true
	must(publish(store, mq))(t)
	require.Empty(t, mq.events)
}

// What RabbitMQ refuses now is counted, and does not stop the others.
func TestRepublishEvents(t *testing.T) {
	t.Parallel()

	store := &eventStore{event: notification.Event{ID: "evt-1", AggregateType: "CUSTOMER", AggregateID: "1", Published: true}}
	for seq := range int64(250) {
		store.published = append(store.published, notification.PublishedEvent{ID: "evt-1", EventPlace: notification.EventPlace{Seq: seq + 1}})
	}
	republish := func(mq *broker) (notification.Republished, error) {
		a := &activities.Activities{Events: store, Planner: planner.Planner{Rows: store}, Messages: mq}
		return run[notification.Republished](a, a.RepublishEvents, activities.RepublishInput{Rate: 100_000})
	}

	mq := &broker{}
	done := must(republish(mq))(t)
	require.Equal(t, []any{250, 0, int64(250)}, []any{done.Events, done.Refused, done.After.Seq})
	require.Len(t, mq.events, 250)

	done = must(republish(&broker{err: &notification.ProviderError{Provider: "rabbitmq", Class: notification.Refused}}))(t)
	require.Equal(t, []any{0, 250}, []any{done.Events, done.Refused})
	_, err := republish(&broker{err: &notification.ProviderError{Provider: "rabbitmq", Class: notification.Busy}})
	requireFailure(t, err, string(notification.Busy), false, 0)
}

// Temporal retries a refusal, because an operator corrects the broker.
func TestPublishEventFailure(t *testing.T) {
	t.Parallel()

	for _, class := range []notification.FailureClass{notification.Refused, notification.Busy, notification.Account, notification.Ambiguous} {
		_, err := publish(&eventStore{}, &broker{err: &notification.ProviderError{Provider: "rabbitmq", Class: class, RetryAfter: time.Second}})
		requireFailure(t, err, string(class), false, time.Second)
	}
	unsent := &eventStore{event: notification.Event{ID: "evt-1", AggregateType: "CUSTOMER"}}
	_, err := publish(unsent, &broker{err: errors.New("a bug")})
	require.Empty(t, unsent.acknowledged)
	requireFailure(t, err, "", false, 0)
	_, err = publish(&eventStore{event: unsent.event, unrecorded: errors.New("database out of reach")}, &broker{})
	requireFailure(t, err, "", false, 0)
	_, err = publish(&eventStore{err: fmt.Errorf("read event: %w", notification.ErrNoEvent)}, &broker{})
	requireFailure(t, err, activities.NoSuchRow, true, 0)
}

func TestFinishEvent(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		in    activities.FinishEventInput
		local bool
		want  notification.EventEnd
	}{
		{in: activities.FinishEventInput{EventID: "evt-1", Success: true, Problem: "no path"},
			want: notification.EventEnd{EventID: "evt-1", Success: true, Problem: "no path"}},
		{in: activities.FinishEventInput{EventID: "evt-1", Outcome: notification.EventCancelled},
			want: notification.EventEnd{EventID: "evt-1", Outcome: notification.EventCancelled}},
		{in: activities.FinishEventInput{EventID: "evt-1", Success: true}, local: true,
			want: notification.EventEnd{EventID: "evt-1", Success: true, First: true}},
	} {
		store := &eventStore{counts: notification.Counts{
			Outcome:    notification.Incomplete,
			Deliveries: map[notification.Status]int{notification.Sent: 2},
			Decisions:  map[notification.Decision]int{notification.DecisionSelected: 2},
		}}
		a := &activities.Activities{Events: store}
		finish := run[notification.Counts]
		if tt.local {
			finish = runLocally[notification.Counts]
		}
		require.Equal(t, store.counts, must(finish(a, a.FinishEvent, tt.in))(t))
		require.Equal(t, tt.want, store.finished)
	}
}
