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
	connection, err := amqp.DialConfig(s.servers.rabbitURL, amqp.Config{Dial: amqp.DefaultDial(time.Minute)})
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

// requirePublished waits until n events of customers have ended, which they do
// not before their domain messages are published, however late the broker is
// back, and checks that each has its own; a crash or an outage may repeat one.
func (s *system) requirePublished(n int) {
	s.t.Helper()
	s.eventually(4*time.Minute, func() bool {
		return s.count(`SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`) == n
	}, "not all of %d events have ended", n)
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
