package rabbitmq_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
)

// eventMessage is the body of a domain message.
type eventMessage struct {
	EventID       string          `json:"event_id"`
	EventType     string          `json:"event_type"`
	AggregateType string          `json:"aggregate_type"`
	AggregateID   json.RawMessage `json:"aggregate_id"` // 5, or "a1b2"
	Payload       json.RawMessage `json:"payload"`
}

// bindQueue creates a durable queue for this service and binds it to a routing key.
func bindQueue(ch *amqp.Channel, queue, key string) error {
	const exchange = "notifications.exchange"
	if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
		return err
	}
	if _, err := ch.QueueDeclare(queue, true, false, false, false, nil); err != nil {
		return err
	}
	return ch.QueueBind(queue, key, exchange, false, nil)
}

// consumeEvents calls handle once for each event of the queue, until ctx ends. seen holds handled
// message ids: keep them in a table, in the transaction of handle. After an error the broker keeps
// the unacknowledged messages: wait a moment, then call it again.
func consumeEvents(
	ctx context.Context, url, queue, key string, seen map[string]bool, handle func(eventMessage) error,
) error {
	conn, err := amqp.Dial(url)
	if err != nil {
		return fmt.Errorf("connect to RabbitMQ: %w", err)
	}
	defer conn.Close()
	ch, err := conn.Channel()
	if err != nil {
		return err
	}
	if err := bindQueue(ch, queue, key); err != nil {
		return fmt.Errorf("bind queue %s to %s: %w", queue, key, err)
	}
	if err := ch.Qos(32, 0, false); err != nil { // at most 32 messages without an acknowledgement
		return err
	}
	deliveries, err := ch.ConsumeWithContext(ctx, queue, "", false, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("consume queue %s: %w", queue, err)
	}
	for delivery := range deliveries {
		var event eventMessage
		if err := json.Unmarshal(delivery.Body, &event); err != nil {
			return fmt.Errorf("read message %s: %w", delivery.MessageId, err)
		}
		if !seen[delivery.MessageId] {
			if err := handle(event); err != nil {
				return fmt.Errorf("handle event %s: %w", event.EventID, err)
			}
			seen[delivery.MessageId] = true
		}
		if err := delivery.Ack(false); err != nil {
			return fmt.Errorf("acknowledge event %s: %w", event.EventID, err)
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return errors.New("the connection to RabbitMQ broke")
}

// The consumer in docs/queues.md is the code above. It handles a repeated event once, and
// acknowledges everything.
func TestConsumerOfTheDocument(t *testing.T) {
	t.Parallel()

	here, err := os.ReadFile("consumer_example_test.go")
	require.NoError(t, err)
	shown := documented(t, "go")
	require.Len(t, shown, 1)
	require.Contains(t, string(here), shown[0])

	vhost, broker := connected(t)
	const queue, key = "billing.events", "notification.restaurant"
	require.NoError(t, bindQueue(vhost.Dial(t), queue, key))
	for _, id := range []string{"evt-1", "evt-1", "evt-2"} {
		event := notification.Event{
			ID: id, Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", Payload: json.RawMessage(`{"guests":4}`),
		}
		require.NoError(t, broker.PublishEvent(t.Context(), event, []string{"restaurant"}))
	}

	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	seen := map[string]bool{}
	var handled []string
	failing := func(eventMessage) error { return errors.New("the database is away") }
	require.ErrorContains(t, consumeEvents(ctx, vhost.URL, queue, key, seen, failing), "handle event evt-1: the database is away")
	require.NoError(t, consumeEvents(ctx, vhost.URL, queue, key, seen, func(event eventMessage) error {
		handled = append(handled, fmt.Sprintf("%s %s %s %s", event.EventID, event.AggregateType, event.AggregateID, event.Payload))
		if event.EventID == "evt-2" {
			stop()
		}
		return nil
	}))
	require.Equal(t, []string{`evt-1 RESTAURANT 5 {"guests":4}`, `evt-2 RESTAURANT 5 {"guests":4}`}, handled)
	require.Empty(t, vhost.Take(t, queue), "every message is acknowledged")
	require.Len(t, vhost.Take(t, key), 3, "the audience's queue has separate copies")
}

// The three bodies in docs/queues.md are bodies that Herald publishes.
func TestBodiesOfTheDocument(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	created := time.Date(2026, 11, 21, 10, 0, 1, 0, time.UTC)
	require.NoError(t, broker.PublishEvent(t.Context(), notification.Event{
		ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5",
		Payload: json.RawMessage(`{"restaurantId":5,"guests":4,"time":"19:30"}`),
	}, []string{"restaurant"}))
	require.NoError(t, broker.PublishDeadLetter(t.Context(), notification.DeadLetter{
		DeliveryID: "evt-1-staff10-EMAIL", EventID: "evt-1", CorrelationID: "c-1", Channel: notification.Email,
		UserType: notification.RestaurantUser, UserID: "10",
		Reason: "bounced: 550 no such mailbox", Attempts: 1, FailedAt: created.Add(987 * time.Millisecond).In(time.FixedZone("CET", 3600)),
	}))
	frame, err := json.Marshal(notification.Message{
		DeliveryID: "evt-1-staff10-WEBSOCKET", NotificationID: 7, EventID: "evt-1", EventType: "RESERVATION_REQUESTED", CorrelationID: "c-1",
		UserType: notification.RestaurantUser, UserID: "10", Title: "New reservation", Body: "Table for 4 at 19:30", CreatedAt: created,
	}.Frame())
	require.NoError(t, err)

	shown := documented(t, "json")
	require.Len(t, shown, 3)
	require.JSONEq(t, shown[0], string(vhost.Take(t, "notification.restaurant")[0].Body))
	dead := vhost.Take(t, rabbitmq.DeadLetterQueue)[0]
	require.JSONEq(t, shown[1], string(dead.Body))
	require.Equal(t, []any{"evt-1-staff10-EMAIL", "c-1", amqp.Persistent}, []any{dead.MessageId, dead.CorrelationId, dead.DeliveryMode})
	require.JSONEq(t, shown[2], string(frame))
}

// documented returns the blocks of docs/queues.md in a language.
func documented(t *testing.T, language string) []string {
	t.Helper()
	document, err := os.ReadFile("../../docs/queues.md")
	require.NoError(t, err)
	var blocks []string
	for part := range strings.SplitSeq(string(document), "\n```"+language+"\n") {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return blocks[1:]
}
