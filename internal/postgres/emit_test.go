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
		{"known id", func(e *notification.Event) { e.ID = "evt-known" }, "there is an event with this id already"},
		{"no id", func(e *notification.Event) { e.ID = "" }, "an event id has 1 to 150 bytes"},
		{"long id", func(e *notification.Event) { e.ID = strings.Repeat("x", 151) }, "an event id has 1 to 150 bytes"},
		{"control character in the id", func(e *notification.Event) { e.ID = "evt\n1" }, "an event id has no control characters"},
		{"no type", func(e *notification.Event) { e.Type = "" }, "an event type has 1 to 100 bytes"},
		{"no aggregate type", func(e *notification.Event) { e.AggregateType = "" }, "an aggregate type has 1 to 100 bytes"},
		{"no aggregate id", func(e *notification.Event) { e.AggregateID = "" }, "an aggregate id has 1 to 100 bytes"},
		{"long correlation id", func(e *notification.Event) { e.CorrelationID = strings.Repeat("x", 256) }, "a correlation id has at most 255 bytes"},
		{"list", func(e *notification.Event) { e.Payload = json.RawMessage(`[1]`) }, "the payload is not a JSON object"},
		{"large payload", func(e *notification.Event) {
			e.Payload = json.RawMessage(`{"a":"` + strings.Repeat("x", 256<<10) + `"}`)
		}, "the payload is larger than 256 KiB"},
		{"no JSON", func(e *notification.Event) { e.Payload = json.RawMessage(`{"a":}`) }, "the payload is not JSON as Postgres knows it"},
		{"zero character", func(e *notification.Event) { e.Payload = json.RawMessage(`{"a":"\u0000"}`) }, "a value holds a character that Postgres cannot store, such as \\u0000"},
		{"zero byte", func(e *notification.Event) { e.CorrelationID = "a\x00" }, "a value holds a character that Postgres cannot store, such as \\u0000"},
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
