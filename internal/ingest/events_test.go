package ingest_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/ingest"
	"herald/internal/roomtest"
	"herald/outbox"
)

// A repeated event is the same event only if each field is the same. A retry has another trace.
func TestTakeEventComparesEveryField(t *testing.T) {
	t.Parallel()

	s, ctx := postgrestest.New(t), t.Context()
	event := outbox.Event{ID: "evt-1", Type: "ORDER_PLACED", AggregateType: "CUSTOMER", AggregateID: "7", Payload: json.RawMessage(`{}`),
		ActorType: "ADMIN", ActorID: "1"}
	require.True(t, roomtest.Must(ingest.On(s).TakeEvent(ctx, event))(t))
	other := map[reflect.Type]any{
		reflect.TypeFor[string]():    "other",
		reflect.TypeFor[time.Time](): time.Now().Add(time.Hour),
		reflect.TypeFor[any]():       json.RawMessage(`{"a": 1}`),
		reflect.TypeFor[[]string]():  []string{"ADMIN/1"},
	}
	for _, field := range reflect.VisibleFields(reflect.TypeOf(event)) {
		if field.Name == "CancelsTypes" { // it belongs to the token, not to the event
			continue
		}
		changed := event
		reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index).Set(reflect.ValueOf(other[field.Type]))
		written, err := ingest.On(s).TakeEvent(ctx, changed)
		switch field.Name {
		case "ID":
			require.True(t, written)
		case "Traceparent":
			require.NoError(t, err)
			require.False(t, written)
		default:
			require.ErrorIs(t, err, outbox.ErrDuplicateID, field.Name)
		}
	}
}
