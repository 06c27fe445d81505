package rabbitmqtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
)

// Dial opens a channel for the test, and closes it at the end of the test.
func (v VirtualHost) Dial(t testing.TB) *amqp.Channel {
	t.Helper()
	conn, err := amqp.Dial(v.URL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ch, err := conn.Channel()
	require.NoError(t, err)
	return ch
}

// Take removes all messages from a queue and returns them in order. No other consumer may use the
// queue.
func (v VirtualHost) Take(t testing.TB, queue string) []amqp.Delivery {
	t.Helper()
	state, err := v.Dial(t).QueueDeclarePassive(queue, true, false, false, false, nil)
	require.NoError(t, err)
	return v.Await(t, queue, state.Messages)
}

// Await waits for n messages in a queue, removes them, and returns them in order. A broker may
// reject a message before other queues have stored it. No other consumer may use the queue.
func (v VirtualHost) Await(t testing.TB, queue string, n int) []amqp.Delivery {
	t.Helper()
	conn, err := amqp.Dial(v.URL)
	require.NoError(t, err)
	defer conn.Close()
	ch, err := conn.Channel()
	require.NoError(t, err)
	deliveries, err := ch.ConsumeWithContext(t.Context(), queue, "", false, false, false, false, nil)
	require.NoError(t, err)
	late := time.After(patience)
	var taken []amqp.Delivery
	for len(taken) < n {
		select {
		case delivery, ok := <-deliveries:
			require.True(t, ok, "the connection broke")
			require.NoError(t, delivery.Ack(false)) // messages after the first n stay in the queue
			taken = append(taken, delivery)
		case <-late:
			require.Fail(t, "messages are missing", "%d of %d have come to %s", len(taken), n, queue)
		}
	}
	return taken
}

// Permit sets the user's permissions on this virtual host, as regular expressions.
func (v VirtualHost) Permit(t testing.TB, configure, write, read string) {
	t.Helper()
	path := "/api/permissions/" + v.Name + "/" + url.PathEscape(v.node.user(t))
	v.node.Do(t, http.MethodPut, path, map[string]string{"configure": configure, "write": write, "read": read})
}

// CloseConnections makes the server close all connections to this virtual host, and returns their
// number. The broker lists a new connection only after some seconds.
func (v VirtualHost) CloseConnections(t testing.TB) int {
	t.Helper()
	var connections []struct {
		Name string `json:"name"`
	}
	require.NoError(t, json.Unmarshal(v.node.Do(t, http.MethodGet, "/api/vhosts/"+v.Name+"/connections", nil), &connections))
	for _, connection := range connections {
		v.node.Do(t, http.MethodDelete, "/api/connections/"+url.PathEscape(connection.Name), nil)
	}
	return len(connections)
}

// Queue is a queue in the broker's description.
type Queue struct {
	Name      string         `json:"name"`
	Durable   bool           `json:"durable"`
	Arguments map[string]any `json:"arguments"`
}

// Queues returns all queues of this virtual host.
func (v VirtualHost) Queues(t testing.TB) []Queue {
	t.Helper()
	var queues []Queue
	require.NoError(t, json.Unmarshal(v.node.Do(t, http.MethodGet, "/api/queues/"+v.Name, nil), &queues))
	return queues
}
