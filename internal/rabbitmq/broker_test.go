package rabbitmq_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

const (
	patience = time.Minute // limit for a condition to become true
	interval = 20 * time.Millisecond
)

func TestConnectMalformedURL(t *testing.T) {
	t.Parallel()

	for _, url := range []string{"", "rabbit", "http://guest:s3cret@localhost/", "amqp://guest:s3cret@local host:%zz/"} {
		_, err := rabbitmq.Connect(t.Context(), rabbitmq.Config{URL: url, Logger: quiet()})
		_, consumeErr := rabbitmq.Consume(t.Context(), rabbitmq.ConsumerConfig{URL: url, Logger: quiet()})
		require.Equal(t, err, consumeErr)
		require.ErrorContains(t, err, "not of the form")
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestReady(t *testing.T) {
	t.Parallel()

	broker := connect(t, rabbitmqtest.VHost(t))
	require.NoError(t, broker.Ready())

	broker.Close()
	require.ErrorContains(t, broker.Ready(), "closed")
	requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Busy, "not connected")
	broker.Close() // a second Close is harmless
}

func TestUnreachableBroker(t *testing.T) {
	t.Parallel()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	for url, want := range map[string]string{
		"amqp://guest:s3cret@" + listener.Addr().String() + "/": "refused",
		withPassword(t, rabbitmqtest.Shared(t).URL, "s3cret"):   "username or password not allowed",
	} {
		broker := connect(t, url)
		require.ErrorContains(t, broker.Ready(), want)
		require.NotContains(t, broker.Ready().Error(), "s3cret")
		requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Busy, "not connected")
	}
}

// A broker that accepts connections but never answers blocks no caller.
func TestSilentBroker(t *testing.T) {
	t.Parallel()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	broker, err := rabbitmq.Connect(ctx, rabbitmq.Config{URL: "amqp://guest:guest@" + listener.Addr().String() + "/", Logger: quiet()})
	require.NoError(t, err)

	require.Error(t, broker.Ready())
	requireFailure(t, broker.Publish(t.Context(), letter("1")), notification.Busy, "not connected")
	requireReturns(t, broker.Close)
}

func TestTopology(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	connect(t, vhost.URL)
	again := connect(t, vhost.URL)
	require.NoError(t, again.Ready())

	want := map[string]map[string]any{"notification.dead-letter": {}, "notification.broadcast": {}}
	for _, audience := range []string{"restaurant", "customer", "agency", "admin"} {
		want["notification."+audience] = map[string]any{}
	}
	for _, audience := range []string{"restaurant", "customer", "agency", "admin", "guest", "all"} {
		want["notification.websocket."+audience] = map[string]any{"x-message-ttl": 60000.0, "x-max-length": 10000.0, "x-overflow": "drop-head"}
	}
	for _, queue := range vhost.Queues(t) {
		require.True(t, queue.Durable, queue.Name)
		require.Equal(t, want[queue.Name], queue.Arguments, queue.Name)
		delete(want, queue.Name)
	}
	require.Empty(t, want)
	for _, queue := range vhost.Queues(t) {
		message := rabbitmq.Message{RoutingKey: queue.Name, ID: "1", Body: []byte("{}")}
		require.NoError(t, again.Publish(t.Context(), message))
		require.Len(t, vhost.Take(t, queue.Name), 1, queue.Name)
	}
}

func TestTopologyMismatch(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	channel := vhost.Dial(t)
	_, err := channel.QueueDeclare(rabbitmq.WebSocketQueue("all"), true, false, false, false, nil)
	require.NoError(t, err)

	broker := connect(t, vhost.URL)

	require.ErrorContains(t, broker.Ready(), "queue notification.websocket.all exists with other settings")
	require.ErrorContains(t, broker.Ready(), "delete it")
	_, err = channel.QueueDelete(rabbitmq.WebSocketQueue("all"), false, false, false)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return broker.Ready() == nil }, patience, interval)
}

// connected returns a broker on a new virtual host.
func connected(t *testing.T) (rabbitmqtest.VirtualHost, *rabbitmq.Broker) {
	t.Helper()
	vhost := rabbitmqtest.Shared(t).VHost(t)
	return vhost, connect(t, vhost.URL)
}

func connect(t *testing.T, url string) *rabbitmq.Broker {
	t.Helper()
	return connectWith(t, rabbitmq.Config{URL: url, Logger: quiet()})
}

func connectWith(t *testing.T, cfg rabbitmq.Config) *rabbitmq.Broker {
	t.Helper()
	broker, err := rabbitmq.Connect(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(broker.Close)
	return broker
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// letter returns a persistent message.
func letter(id string) rabbitmq.Message {
	return rabbitmq.Message{RoutingKey: rabbitmq.DeadLetterQueue, ID: id, Body: []byte(`{"id":"` + id + `"}`), Persistent: true}
}

func requireFailure(t *testing.T, err error, class notification.FailureClass, code string) {
	t.Helper()
	var failure *notification.ProviderError
	require.ErrorAs(t, err, &failure)
	require.Equal(t, "rabbitmq", failure.Provider)
	require.Equal(t, class, failure.Class, code)
	require.Equal(t, code, failure.Code)
	require.Equal(t, class == notification.Busy, failure.RetryAfter > 0)
}

func requireReturns(t *testing.T, f func()) {
	t.Helper()
	returned := make(chan struct{})
	go func() {
		f()
		close(returned)
	}()
	select {
	case <-returned:
	case <-time.After(patience):
		require.NoError(t, errors.New("the call did not return"))
	}
}
