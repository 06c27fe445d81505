package postgres_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

func producedEvent(id string) notification.Event {
	return notification.Event{
		ID: id, Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5",
		Payload: json.RawMessage(`{"restaurantId": 5}`), CorrelationID: "order-1",
	}
}

func TestInsertEvents(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	uncorrelated := producedEvent("evt-2")
	uncorrelated.CorrelationID = ""

	require.NoError(t, s.InsertEvents(t.Context(), []notification.Event{producedEvent("evt-1"), uncorrelated}))

	require.Equal(t, []string{"evt-1", "evt-2"}, claim(t, s, "a", 10))
	event, _, err := s.Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.False(t, event.CreatedAt.IsZero())
	want := producedEvent("evt-1")
	want.CreatedAt = event.CreatedAt
	require.Equal(t, want, event)
	require.True(t, get[bool](t, s, "SELECT correlation_id IS NULL FROM event_outbox WHERE event_id = 'evt-2'"))
}

func TestInsertEventsRefused(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emitEvent(t, s, "evt-known")
	tests := []struct {
		name   string
		spoil  func(*notification.Event)
		reason string
	}{
		{name: "known id", spoil: func(e *notification.Event) { e.ID = "evt-known" }, reason: "there is an event with this id already"},
		{name: "no id", spoil: func(e *notification.Event) { e.ID = "" }, reason: "an event id has 1 to 150 bytes"},
		{name: "long id", spoil: func(e *notification.Event) { e.ID = strings.Repeat("x", 151) }, reason: "an event id has 1 to 150 bytes"},
		{name: "control character in the id", spoil: func(e *notification.Event) { e.ID = "evt\n1" }, reason: "an event id has no control characters"},
		{name: "no type", spoil: func(e *notification.Event) { e.Type = "" }, reason: "an event type has 1 to 100 bytes"},
		{name: "no aggregate type", spoil: func(e *notification.Event) { e.AggregateType = "" }, reason: "an aggregate type has 1 to 100 bytes"},
		{name: "no aggregate id", spoil: func(e *notification.Event) { e.AggregateID = "" }, reason: "an aggregate id has 1 to 100 bytes"},
		{name: "long correlation id", spoil: func(e *notification.Event) { e.CorrelationID = strings.Repeat("x", 256) }, reason: "a correlation id has at most 255 bytes"},
		{name: "list", spoil: func(e *notification.Event) { e.Payload = json.RawMessage(`[1]`) }, reason: "the payload is not a JSON object"},
		{name: "large payload", spoil: func(e *notification.Event) {
			e.Payload = json.RawMessage(`{"a":"` + strings.Repeat("x", 256<<10) + `"}`)
		}, reason: "the payload is larger than 256 KiB"},
		{name: "no JSON", spoil: func(e *notification.Event) { e.Payload = json.RawMessage(`{"a":}`) }, reason: "the payload is not JSON as Postgres knows it"},
		{name: "zero character", spoil: func(e *notification.Event) { e.Payload = json.RawMessage(`{"a":"\u0000"}`) }, reason: "a value holds a character that Postgres cannot store, such as \\u0000"},
		{name: "zero byte", spoil: func(e *notification.Event) { e.CorrelationID = "a\x00" }, reason: "a value holds a character that Postgres cannot store, such as \\u0000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			event := producedEvent("evt-spoilt")
			tt.spoil(&event)
			err := s.InsertEvents(t.Context(), []notification.Event{producedEvent("evt-neighbour " + tt.name), event})

			var refused *postgres.RefusedEventError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, tt.reason, refused.Why)
			require.Equal(t, "event_outbox refuses the event: "+tt.reason, err.Error())
			require.Zero(t, get[int](t, s, "SELECT count(*) FROM event_outbox WHERE event_id = $1", "evt-neighbour "+tt.name), "all or none")
		})
	}
}

func TestInsertEventsWithoutASchema(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	exec(t, s, "DROP TABLE event_outbox CASCADE")

	err := s.InsertEvents(t.Context(), []notification.Event{producedEvent("evt-1")})

	var refused *postgres.RefusedEventError
	require.Error(t, err)
	require.NotErrorAs(t, err, &refused)
}
