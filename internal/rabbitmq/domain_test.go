package rabbitmq_test

import (
	"encoding/json"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
)

func TestPublishEvent(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	event := notification.Event{
		ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESERVATION", AggregateID: "5",
		Payload: json.RawMessage(`{"note":"<b>1 & 2</b>","big":12345678901234567890}`), CorrelationID: "c-1", Traceparent: "00-trace-span-01",
	}

	require.NoError(t, connect(t, vhost.URL).PublishEvent(t.Context(), event, []string{"restaurant", "customer"}))

	for _, queue := range []string{"notification.restaurant", "notification.customer"} {
		taken := vhost.Take(t, queue)
		require.Len(t, taken, 1, queue)
		require.Equal(t, `{"event_id":"evt-1","event_type":"RESERVATION_REQUESTED","aggregate_type":"RESERVATION","aggregate_id":5,`+
			`"payload":{"note":"<b>1 & 2</b>","big":12345678901234567890}}`, string(taken[0].Body))
		require.Equal(t, []any{"evt-1", "RESERVATION_REQUESTED", "c-1", amqp.Table{"traceparent": "00-trace-span-01"}, amqp.Persistent},
			[]any{taken[0].MessageId, taken[0].Type, taken[0].CorrelationId, taken[0].Headers, taken[0].DeliveryMode})
	}
	require.Empty(t, vhost.Take(t, "notification.agency"))
}

func TestPublishEventAggregateID(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	tests := map[string]string{
		"5": `5`, "0": `0`, "-7": `-7`, "9007199254740991": `9007199254740991`, "9007199254740992": `"9007199254740992"`,
		"-9007199254740992":  `"-9007199254740992"`,
		"653247040368672768": `"653247040368672768"`, "9223372036854775807": `"9223372036854775807"`,
		"": `""`, "007": `"007"`, "+5": `"+5"`, "-0": `"-0"`, "1e3": `"1e3"`, "1.0": `"1.0"`, " 1": `" 1"`,
		"9223372036854775808": `"9223372036854775808"`, "a1b2": `"a1b2"`,
	}
	for id, want := range tests {
		event := notification.Event{ID: "evt-1", AggregateID: id, Payload: json.RawMessage(`{}`)}
		require.NoError(t, broker.PublishEvent(t.Context(), event, []string{"broadcast"}))

		taken := vhost.Take(t, "notification.broadcast")
		require.Len(t, taken, 1)
		require.Contains(t, string(taken[0].Body), `"aggregate_id":`+want+`,`)
	}
}

// The name of another queue is not an audience. Herald refuses messages to everybody.
func TestPublishRefusesAudiences(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	good := notification.Event{ID: "evt-1", Payload: json.RawMessage(`{}`)}
	bad := notification.Event{ID: "evt-2", Payload: json.RawMessage(`s3cret`)}

	for _, other := range []string{"", "all", "dead-letter", "websocket.admin", "#"} {
		requireFailure(t, broker.PublishEvent(t.Context(), good, []string{"admin", other}), notification.Refused, "unknown audience")
		requireFailure(t, broker.PublishWebSocket(t.Context(), other, "d1", []byte("{}")), notification.Refused, "unknown audience")
	}
	requireFailure(t, broker.PublishEvent(t.Context(), bad, []string{"admin"}), notification.Refused, "payload is not JSON")

	require.Empty(t, vhost.Take(t, "notification.admin"))
	require.Empty(t, vhost.Take(t, "notification.websocket.all"))
}

// The first message creates the queues of an added user type. They survive a loss. If the type is
// known earlier, Declare creates both queues.
func TestAddedUserType(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	event := notification.Event{ID: "evt-1", Payload: json.RawMessage(`{}`)}
	publish := func() {
		require.NoError(t, broker.PublishEvent(t.Context(), event, []string{"patient"}))
		require.NoError(t, broker.PublishWebSocket(t.Context(), "patient", "d1", []byte("{}")))
		require.Len(t, vhost.Take(t, "notification.patient"), 1)
		require.Len(t, vhost.Take(t, "notification.websocket.patient"), 1)
	}
	publish()
	require.Equal(t, arguments(t, vhost, "notification.websocket.guest"), arguments(t, vhost, "notification.websocket.patient"))
	for _, queue := range []string{"notification.patient", "notification.websocket.patient"} {
		_, err := vhost.Dial(t).QueueDelete(queue, false, false, false)
		require.NoError(t, err)
	}
	publish()
	depths, err := broker.Depths(t.Context())
	require.NoError(t, err)
	require.Contains(t, depths, "notification.websocket.patient")

	channel := vhost.Dial(t)
	_, err = channel.QueueDeclare("notification.websocket.doctor", true, false, false, false, nil) // by a gateway, with its own arguments
	require.NoError(t, err)
	broker.Declare([]notification.UserTypeRow{
		{UserType: "DOCTOR", Who: "doctor", Audience: "doctor"}, {UserType: "GUEST", Who: "guest", Audience: "guest"},
	})
	require.NoError(t, broker.Ready())
	require.NoError(t, broker.PublishWebSocket(t.Context(), "doctor", "d2", []byte("{}")))
	require.Len(t, vhost.Take(t, "notification.websocket.doctor"), 1)
	require.Empty(t, arguments(t, vhost, "notification.doctor"))
	_, err = channel.QueueDeclarePassive("notification.guest", true, false, false, false, nil)
	require.Error(t, err, "guests have no domain messages")
}
