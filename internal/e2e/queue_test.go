package e2e_test

import (
	"encoding/json"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
)

// drain takes all messages out of a queue.
func (s *system) drain(queue string) []amqp.Delivery {
	s.t.Helper()
	connection, err := amqp.DialConfig(s.servers.rabbitURL, amqp.Config{Dial: amqp.DefaultDial(10 * time.Second)})
	require.NoError(s.t, err)
	defer func() { _ = connection.Close() }()
	channel, err := connection.Channel()
	require.NoError(s.t, err)
	var messages []amqp.Delivery
	for {
		message, ok, err := channel.Get(queue, true)
		require.NoError(s.t, err)
		if !ok {
			return messages
		}
		messages = append(messages, message)
	}
}

// requirePublished checks that each of n events of customers has its domain
// message; a crash or an outage may repeat one.
func (s *system) requirePublished(n int) {
	s.t.Helper()
	ids := map[string]bool{}
	for _, message := range s.drain("notification.customer") {
		var body struct {
			EventID string `json:"event_id"`
		}
		require.NoError(s.t, json.Unmarshal(message.Body, &body))
		require.Equal(s.t, body.EventID, message.MessageId)
		ids[message.MessageId] = true
	}
	require.Len(s.t, ids, n)
}
