package rabbitmq_test

import (
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/rabbitmq/rabbitmqtest"
)

var narrow = rabbitmq.Bounds{Length: 2, TTL: time.Hour}

func connectBounded(t *testing.T, url string, bounds rabbitmq.Bounds) *rabbitmq.Broker {
	t.Helper()
	return connectWith(t, rabbitmq.Config{URL: url, Logger: quiet(), Bounds: bounds})
}

// arguments returns a queue's arguments.
func arguments(t *testing.T, vhost rabbitmqtest.VirtualHost, name string) map[string]any {
	t.Helper()
	for _, queue := range vhost.Queues(t) {
		if queue.Name == name {
			return queue.Arguments
		}
	}
	require.Fail(t, "there is no queue "+name)
	return nil
}

// A full queue refuses messages and loses none.
func TestFullQueueRefuses(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	broker := connectBounded(t, vhost.URL, narrow)
	want := map[string]any{"x-max-length": 2.0, "x-overflow": "reject-publish", "x-message-ttl": 3_600_000.0}
	for _, queue := range []string{rabbitmq.DeadLetterQueue, "notification.restaurant", "notification.broadcast"} {
		require.Equal(t, want, arguments(t, vhost, queue))
	}
	require.NoError(t, broker.Publish(t.Context(), letter("1")))
	require.NoError(t, broker.Publish(t.Context(), letter("2")))
	requireFailure(t, broker.Publish(t.Context(), letter("3")), notification.Ambiguous, "negative confirmation")

	taken := vhost.Take(t, rabbitmq.DeadLetterQueue)
	require.Len(t, taken, 2)
	require.Equal(t, []string{"1", "2"}, []string{taken[0].MessageId, taken[1].MessageId})
	require.NoError(t, broker.Publish(t.Context(), letter("3")), "the queue has room again")
}

// The limits of an existing queue cannot change. Herald uses a queue with other limits, or with none.
func TestQueuesWithOtherBounds(t *testing.T) {
	t.Parallel()

	for name, bounds := range map[string][2]rabbitmq.Bounds{
		"bounded later":     {{}, narrow},
		"unbounded later":   {narrow, {}},
		"of another length": {narrow, {Length: 3}},
		"of another TTL":    {narrow, {Length: 2, TTL: time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			vhost := rabbitmqtest.Shared(t).VHost(t)
			connectBounded(t, vhost.URL, bounds[0]).Close()
			before := arguments(t, vhost, rabbitmq.DeadLetterQueue)

			broker := connectBounded(t, vhost.URL, bounds[1])

			require.NoError(t, broker.Ready())
			require.NoError(t, broker.Publish(t.Context(), letter("1")))
			require.Len(t, vhost.Take(t, rabbitmq.DeadLetterQueue), 1)
			require.Equal(t, before, arguments(t, vhost, rabbitmq.DeadLetterQueue))
		})
	}
}

// A queue that does not keep its messages is an error.
func TestQueueThatIsNotDurable(t *testing.T) {
	t.Parallel()

	vhost := rabbitmqtest.Shared(t).VHost(t)
	_, err := vhost.Dial(t).QueueDeclare(rabbitmq.DeadLetterQueue, false, false, false, false, amqp.Table{amqp.QueueMaxLenArg: int64(5)})
	require.NoError(t, err)
	require.ErrorContains(t, connectBounded(t, vhost.URL, narrow).Ready(), "exists with other settings")
}

func TestDepths(t *testing.T) {
	t.Parallel()

	vhost, broker := connected(t)
	require.NoError(t, broker.Publish(t.Context(), letter("1")))
	require.NoError(t, broker.Publish(t.Context(), letter("2")))

	depths, err := broker.Depths(t.Context())

	require.NoError(t, err)
	require.Equal(t, 2, depths[rabbitmq.DeadLetterQueue])
	require.Equal(t, 0, depths["notification.websocket.guest"])
	require.Len(t, depths, len(vhost.Queues(t)))
	broker.Close()
	_, err = broker.Depths(t.Context())
	require.ErrorContains(t, err, "closed")
}
