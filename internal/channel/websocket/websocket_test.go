package websocket_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/websocket"
	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

func TestSend(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	sender := newSender(t, vhost)
	for _, audience := range []string{"restaurant", "customer", "agency", "admin", "guest", "patient"} { // the last one is new
		t.Run(audience, func(t *testing.T) {
			t.Parallel()

			receipt, err := sender.Send(t.Context(), notification.Message{
				DeliveryID: "evt-1-staff10-WEBSOCKET", NotificationID: 7, EventID: "evt-1", EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
				UserType: notification.RestaurantUser, Audience: audience, UserID: "10", Name: "Ada", Title: "New reservation",
				Body:      "Table for 4 at 19:30",
				CreatedAt: time.Date(2026, 11, 21, 11, 0, 0, 987, time.FixedZone("CET", 3600)),
			})

			require.NoError(t, err)
			require.Positive(t, receipt.Took)
			receipt.Took = 0
			require.Equal(t, notification.Answer{}, receipt)
			taken := vhost.Take(t, "notification.websocket."+audience)
			require.Len(t, taken, 1)
			require.Equal(t, "evt-1-staff10-WEBSOCKET", taken[0].MessageId)
			require.Equal(t, "application/json", taken[0].ContentType)
			require.Equal(t, amqp.Transient, taken[0].DeliveryMode)
			require.JSONEq(t, `{"type":"notification","delivery_id":"evt-1-staff10-WEBSOCKET","notification_id":7,"event_id":"evt-1",
				"event_type":"RESERVATION_REQUESTED","correlation_id":"c-1","user_type":"RESTAURANT_USER","user_id":"10","title":"New reservation",
				"body":"Table for 4 at 19:30","created_at":"2026-11-21T10:00:00Z"}`, string(taken[0].Body))
		})
	}
}

func TestSendWithoutBroker(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.VirtualHost{URL: "amqp://guest:s3cret-password@127.0.0.1:1/"}
	msg := channeltest.Message(1)
	_, err := newSender(t, vhost).Send(t.Context(), msg)
	failure := channeltest.RequireFailure(t, err, msg, []string{"s3cret"})
	require.Equal(t, notification.Busy, failure.Class)
}

func TestConformance(t *testing.T) {
	t.Parallel()

	channeltest.RunBasics(t, func(t *testing.T) channeltest.Link {
		vhost := rabbitmqtest.Shared(t).VHost(t)
		sender := newSender(t, vhost)
		return channeltest.Link{
			Sender:   sender,
			Message:  channeltest.Message,
			Arrivals: arrivals(t, vhost, rabbitmq.WebSocketQueue("restaurant")),
			Secrets:  []string{vhost.URL, vhost.Name},
			// There is no Break: without a broker the failure is not ambiguous (see
			// TestSendWithoutBroker).
		}
	})
}

// arrivals reads a queue as a gateway does.
func arrivals(t *testing.T, vhost rabbitmqtest.VirtualHost, queue string) func() []channeltest.Arrival {
	t.Helper()
	var all []channeltest.Arrival
	return func() []channeltest.Arrival {
		for _, taken := range vhost.Take(t, queue) {
			var frame notification.Frame
			require.NoError(t, json.Unmarshal(taken.Body, &frame))
			require.Equal(t, taken.MessageId, frame.DeliveryID)
			all = append(all, channeltest.Arrival{DeliveryID: frame.DeliveryID, To: frame.UserID, Text: frame.Body})
		}
		return all
	}
}

func newSender(t *testing.T, vhost rabbitmqtest.VirtualHost) channel.Sender {
	t.Helper()
	broker, err := rabbitmq.Connect(t.Context(), rabbitmq.Config{URL: vhost.URL, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	sender, err := new(websocket.Settings).NewSender(channel.Process{Broker: broker})
	require.NoError(t, err)
	return sender
}
