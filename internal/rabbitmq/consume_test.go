package rabbitmq_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

// Two gateways each get every websocket message, from any publisher, and no other messages. The
// durable queues still get the same messages.
func TestConsumeEach(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	first, second := consume(t, vhost.URL, nil), consume(t, vhost.URL, nil)

	require.NoError(t, broker.Publish(t.Context(), letter("1")))
	require.NoError(t, broker.PublishWebSocket(t.Context(), "customer", "evt-1-customer7-WEBSOCKET", []byte(`{"n":1}`)))
	require.NoError(t,
		broker.Publish(t.Context(), rabbitmq.Message{RoutingKey: "notification.websocket.all", ID: "2", Body: []byte(`{"n":2}`)}))

	want := []string{`notification.websocket.customer {"n":1}`, `notification.websocket.all {"n":2}`}
	for _, inbox := range []*inbox{first, second} {
		require.Eventually(t, func() bool { return len(inbox.all()) == 2 }, patience, interval)
		require.Equal(t, want, inbox.all())
	}
	require.Len(t, vhost.Take(t, "notification.websocket.customer"), 1)
}

// A gateway may start before every other process.
func TestConsumeWithoutTopology(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	inbox := consume(t, vhost.URL, nil)
	publish(t, vhost.Dial(t), "notification.websocket.customer", "first")
	require.Eventually(t, func() bool { return len(inbox.all()) == 1 }, patience, interval)
}

func TestConsumeLeavesNothing(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	inbox := consume(t, vhost.URL, nil)
	require.Len(t, vhost.Queues(t), 2)
	inbox.consumer.Close()
	require.ErrorContains(t, inbox.consumer.Ready(), "closed")
	require.Eventually(t, func() bool { return len(vhost.Queues(t)) == 0 }, patience, interval)
	inbox.consumer.Close() // a second Close is harmless
}

// The permissions in docs/upgrading.md are enough.
func TestConsumeWithNarrowPermissions(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	broker := connect(t, vhost.URL)
	// the test publishes as the same user, so it may write to the exchange too
	const own = `^(amq\.gen-.*|notifications\.exchange)$`
	vhost.Permit(t, own, `^(amq\.gen-.*|amq\.default|notifications\.exchange)$`, own)
	in := consume(t, vhost.URL, nil)
	require.NoError(t, broker.PublishWebSocket(t.Context(), "customer", "evt-1-customer42-WEBSOCKET", []byte(`{}`)))
	require.Eventually(t, func() bool { return len(in.all()) == 1 }, patience, interval)
}

// Each subscription announces a time before which nothing was missed. Later messages are
// delivered.
func TestConsumeAgain(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	inbox := consume(t, vhost.URL, nil)
	require.Len(t, inbox.gaps(), 1)

	require.Eventually(t, func() bool { return vhost.CloseConnections(t) > 0 }, patience, interval)
	require.Eventually(t, func() bool { return len(inbox.gaps()) == 2 }, patience, interval)

	publish(t, vhost.Dial(t), "notification.websocket.customer", "after")
	require.Eventually(t, func() bool { return len(inbox.all()) == 1 }, patience, interval)
	require.Less(t, inbox.gaps()[1], time.Now().Add(-20*time.Second), "a dead connection is noticed late")
}

// If a gateway is too slow, the broker drops messages, so that the queue stays small. The gateway is told
// that messages are missing.
func TestConsumeTooSlow(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	began := time.Now()
	gate := make(chan struct{})
	inbox := consume(t, vhost.URL, func() { <-gate })
	const sent, kept = 11_000, 10_000
	channel := vhost.Dial(t)
	require.NoError(t, channel.Confirm(false))
	for i := range sent - 1 {
		publish(t, channel, "notification.websocket.customer", strconv.Itoa(i))
	}
	confirmed, err := channel.PublishWithDeferredConfirm(rabbitmq.Exchange, "notification.websocket.customer", false, false,
		amqp.Publishing{Body: []byte("last")})
	require.NoError(t, err)
	require.True(t, confirmed.Wait())
	require.Len(t, inbox.gaps(), 1)

	close(gate)

	last := func() bool {
		all := inbox.all()
		return len(all) > 0 && all[len(all)-1] == "notification.websocket.customer last"
	}
	require.Eventually(t, last, patience, interval)
	require.Eventually(t, func() bool { return len(inbox.gaps()) > 1 }, patience, interval)
	require.LessOrEqual(t, len(inbox.all()), kept+512)
	require.Less(t, len(inbox.all()), sent)
	require.WithinRange(t, inbox.gaps()[1], began.Add(-time.Minute), time.Now())
}

// inbox stores a consumer's messages.
type inbox struct {
	consumer *rabbitmq.Consumer

	mu       sync.Mutex
	messages []string
	missed   []time.Time
}

// consume starts a consumer and waits until it has subscribed. Each delivery first calls before,
// if it is set.
func consume(t *testing.T, url string, before func()) *inbox {
	t.Helper()
	in := &inbox{}
	consumer, err := rabbitmq.Consume(context.Background(), rabbitmq.ConsumerConfig{
		URL: url, Logger: quiet(),
		Deliver: func(key string, body []byte) {
			if before != nil {
				before()
			}
			in.mu.Lock()
			defer in.mu.Unlock()
			in.messages = append(in.messages, fmt.Sprintf("%s %s", key, body))
		},
		Missed: func(since time.Time) {
			in.mu.Lock()
			defer in.mu.Unlock()
			in.missed = append(in.missed, since)
		},
	})
	require.NoError(t, err)
	t.Cleanup(consumer.Close)
	in.consumer = consumer
	require.Eventually(t, func() bool { return consumer.Ready() == nil }, patience, interval)
	return in
}

func (in *inbox) all() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string(nil), in.messages...)
}

func (in *inbox) gaps() []time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]time.Time(nil), in.missed...)
}

func publish(t *testing.T, channel *amqp.Channel, key, body string) {
	t.Helper()
	require.NoError(t, channel.PublishWithContext(t.Context(), rabbitmq.Exchange, key, false, false, amqp.Publishing{Body: []byte(body)}))
}
