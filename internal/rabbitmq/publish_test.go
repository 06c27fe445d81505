package rabbitmq_test

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

// A message has all its properties. TestPublishEvent has a persistent one.
func TestPublish(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	require.NoError(t, broker.Publish(t.Context(),
		rabbitmq.Message{RoutingKey: "notification.admin", ID: "evt-1", Type: "LOGIN", CorrelationID: "c-1", Body: []byte(`{"a":1}`)}))

	got := vhost.Take(t, "notification.admin")[0]
	require.Equal(t, []string{"notifications.exchange", "notification.admin", "evt-1", "LOGIN", "c-1", "application/json", `{"a":1}`},
		[]string{got.Exchange, got.RoutingKey, got.MessageId, got.Type, got.CorrelationId, got.ContentType, string(got.Body)})
	require.Equal(t, amqp.Transient, got.DeliveryMode)
}

func TestPublishRefused(t *testing.T) {
	t.Parallel()

	broker := connect(t, rabbitmqtest.VHost(t))
	long := strings.Repeat("x", 256)
	tests := []struct {
		name    string
		message rabbitmq.Message
		code    string
	}{
		{name: "no such queue", message: rabbitmq.Message{RoutingKey: "notification.nobody", ID: "1"}, code: "unroutable"},
		{name: "long routing key", message: rabbitmq.Message{RoutingKey: long, ID: "1"}, code: "property over 255 bytes"},
		{name: "long id", message: rabbitmq.Message{RoutingKey: rabbitmq.DeadLetterQueue, ID: long}, code: "property over 255 bytes"},
		{name: "long type", message: rabbitmq.Message{RoutingKey: rabbitmq.DeadLetterQueue, Type: long}, code: "property over 255 bytes"},
		{name: "long correlation id", message: rabbitmq.Message{RoutingKey: rabbitmq.DeadLetterQueue, CorrelationID: long},
			code: "property over 255 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			requireFailure(t, broker.Publish(t.Context(), tt.message), notification.Refused, tt.code)
			require.NoError(t, broker.Publish(t.Context(), letter("1"))) // other messages are not affected
		})
	}
}

func TestPublishRepairsTopology(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		damage func(*amqp.Channel) error
	}{
		{"exchange deleted", func(ch *amqp.Channel) error { return ch.ExchangeDelete(rabbitmq.Exchange, false, false) }},
		{"queue deleted", func(ch *amqp.Channel) error {
			_, err := ch.QueueDelete(rabbitmq.DeadLetterQueue, false, false, false)
			return err
		}},
		{"binding deleted", func(ch *amqp.Channel) error {
			return ch.QueueUnbind(rabbitmq.DeadLetterQueue, rabbitmq.DeadLetterQueue, rabbitmq.Exchange, nil)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			vhost, broker := connected(t)
			vandal := vhost.Dial(t)

			for _, id := range []string{"1", "2"} { // the first message opens the channel that the second loses
				require.NoError(t, broker.Publish(t.Context(), letter(id)))
				require.Equal(t, []string{id}, ids(vhost.Take(t, rabbitmq.DeadLetterQueue)))
				require.NoError(t, tt.damage(vandal))
			}
			require.ElementsMatch(t, numbers(64), publishConcurrently(t, broker, 64)) // twice as many as channels
			taken := vhost.Take(t, rabbitmq.DeadLetterQueue)
			require.ElementsMatch(t, numbers(64), ids(taken))
			for _, delivery := range taken {
				require.JSONEq(t, `{"id":"`+delivery.MessageId+`"}`, string(delivery.Body))
			}
		})
	}
}

// A full queue of another owner rejects the message, although our queue has stored it.
func TestPublishNegativeConfirmation(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	channel := vhost.Dial(t)
	_, err := channel.QueueDeclare("full", true, false, false, false, amqp.Table{"x-max-length": 0, "x-overflow": "reject-publish"})
	require.NoError(t, err)
	require.NoError(t, channel.QueueBind("full", rabbitmq.DeadLetterQueue, rabbitmq.Exchange, false, nil))

	requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Ambiguous, "negative confirmation")

	require.Equal(t, []string{"1", "1", "1"}, ids(vhost.Await(t, rabbitmq.DeadLetterQueue, 3)))
	_, err = channel.QueueDelete("full", false, false, false)
	require.NoError(t, err)
	require.NoError(t, broker.Publish(t.Context(), letter("2")))
}

func TestPublishWithoutPermission(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	vhost.Permit(t, ".*", "^$", ".*")

	requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Account, "access refused")

	vhost.Permit(t, ".*", ".*", ".*")
	require.NoError(t, broker.Publish(t.Context(), letter("2")))
}

func TestPublishContextOver(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	expired, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()

	requireFailure(t, broker.Publish(cancelled, letter("1")), notification.Ambiguous, "cancelled")
	requireFailure(t, broker.Publish(expired, letter("2")), notification.Ambiguous, "timeout")

	require.Empty(t, vhost.Take(t, rabbitmq.DeadLetterQueue))
}

// publishConcurrently publishes n letters at once. It returns the ids of confirmed letters.
func publishConcurrently(t *testing.T, broker *rabbitmq.Broker, n int) []string {
	t.Helper()
	var (
		mu        sync.Mutex
		confirmed []string
		all       sync.WaitGroup
	)
	for _, id := range numbers(n) {
		all.Go(func() {
			if broker.Publish(t.Context(), letter(id)) == nil {
				mu.Lock()
				defer mu.Unlock()
				confirmed = append(confirmed, id)
			}
		})
	}
	all.Wait()
	return confirmed
}

func numbers(n int) []string {
	var all []string
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}

func ids(deliveries []amqp.Delivery) []string {
	var all []string
	for _, delivery := range deliveries {
		all = append(all, delivery.MessageId)
	}
	return all
}

func withPassword(t *testing.T, brokerURL, password string) string {
	t.Helper()
	parsed, err := url.Parse(brokerURL)
	require.NoError(t, err)
	parsed.User = url.UserPassword(parsed.User.Username(), password)
	return parsed.String()
}
