package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/outboxes"
	"herald/internal/outboxes/kafka"
)

// A worker needs Kafka only where a source has a topic: KAFKA_BROKERS may be set for others.
func TestConnectTopics(t *testing.T) {
	t.Parallel()

	brokers := []string{"localhost:1"}
	people := outboxes.Source{Name: notification.HeraldSource, People: true}
	topic := outboxes.Source{Name: "orders", Kafka: &outboxes.KafkaRoute{Topic: "orders"}}
	tests := []struct {
		name      string
		brokers   []string
		sources   []outboxes.Source
		part      part
		connected bool
	}{
		{"a source has a topic", brokers, []outboxes.Source{people, topic}, part{events: true}, true},
		{"no source has one", brokers, []outboxes.Source{people}, part{events: true}, false},
		{"no broker", nil, []outboxes.Source{people, topic}, part{events: true}, false},
		{"no events", brokers, []outboxes.Source{people, topic}, part{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			topics, err := connectTopics(kafka.Settings{Brokers: tt.brokers, ClientID: "herald"}, tt.sources, tt.part)
			require.NoError(t, err)
			t.Cleanup(func() { closeTopics(topics) })
			require.Equal(t, tt.connected, topics != nil)
		})
	}
}
