package roomtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

var Event1 = notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED"}

// Emit writes n events, evt-1 to evt-n, in one statement each.
func Emit(t *testing.T, s *db.DB, n int) {
	t.Helper()
	for i := 1; i <= n; i++ {
		EmitEvent(t, s, fmt.Sprintf("evt-%d", i))
	}
}

func EmitEvent(t *testing.T, s *db.DB, id string) {
	t.Helper()
	postgrestest.Add(t, s.Pool, requested(id))
}

// requested is an event about restaurant 5.
func requested(id string) postgrestest.Event {
	return postgrestest.Event{ID: id, Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5",
		Payload: `{"restaurantId": 5}`}
}

// EmitMany writes n events in one statement.
func EmitMany(t *testing.T, s *db.DB, n int) {
	t.Helper()
	postgrestest.AddMany(t, s.Pool, n, requested(""), postgrestest.Expressions{"event_id": "gen_random_uuid()"})
}

// EmitVersion writes the n-th event about an order.
func EmitVersion(t *testing.T, s *db.DB, n int, key string) notification.Event {
	t.Helper()
	event := notification.Event{ID: fmt.Sprint("v", n), Type: "ORDER_STATUS", CollapseKey: key}
	postgrestest.Add(t, s.Pool, postgrestest.Event{ID: event.ID, Type: event.Type, CollapseKey: key})
	return event
}

func SaveVersion(t *testing.T, s *db.DB, event notification.Event, page ...notification.DecidedRecipient) {
	t.Helper()
	require.NoError(t, planner.On(s).SavePlan(t.Context(), event, page))
}

// Version returns the plan of an event for one of the staff.
func Version(event notification.Event, userID string, channels ...notification.Channel) notification.DecidedRecipient {
	return DecidedOf(event.ID, userID, Mapped(channels, Planned)...)
}

// Listen runs a listener until the test ends, and returns its wake-ups.
func Listen(t *testing.T, listener func(ctx context.Context, wake func())) <-chan struct{} {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wakes, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		listener(ctx, func() { wakes <- struct{}{} })
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return wakes
}

func AwaitWake(t *testing.T, wakes <-chan struct{}) {
	t.Helper()
	select {
	case <-wakes:
	case <-time.After(time.Minute):
		require.Fail(t, "not woken")
	}
}
