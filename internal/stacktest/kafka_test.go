package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
	"herald/internal/stacktest"
)

// Records that the local Kafka acknowledged survive a kill, like records with replicas in Apache Kafka. A
// frozen broker does not answer until it is thawed.
func TestKafkaIsKilled(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "kafka")
	broker := stack.Settings(t)["KAFKA_BROKERS"]
	kafkatest.CreateTopic(t, broker, "orders", nil)
	producer, err := kafka.New(kafka.Settings{Brokers: []string{broker}})
	require.NoError(t, err)
	defer producer.Close(t.Context())
	for _, value := range []string{"1", "2"} {
		require.NoError(t, producer.ProduceAll(t.Context(), []relay.Record{{Topic: "orders", Value: []byte(value)}})[0])
		require.Contains(t, stack.Run(t, "kill", "kafka"), "stopping kafka")
		require.Error(t, producer.Ready(t.Context()))
		stack.Run(t, "up", "kafka")
	}

	stack.Run(t, "freeze", "kafka")
	frozen, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorContains(t, producer.Ready(frozen), "no answer in time")
	stack.Run(t, "thaw", "kafka")

	records := kafkatest.Records(t, broker, "orders", 2)

	require.Len(t, records, 2)
	require.Equal(t, "1", string(records[0].Value))
	require.Equal(t, "2", string(records[1].Value))
}

// Your brokers replace the local broker.
func TestYourKafka(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	yours := []string{"KAFKA_BROKERS=kafka-1.example.com:9093,kafka-2.example.com:9093"}
	require.Equal(t, "KAFKA_BROKERS\n", stack.Command(t, script, yours, "yours"))
	require.Contains(t, stack.Command(t, script, yours, "env"), "export KAFKA_BROKERS='kafka-1.example.com:9093,kafka-2.example.com:9093'")
	require.Empty(t, stack.Command(t, script, yours, "status", "kafka"))
	require.Empty(t, stack.Command(t, script, yours, "up", "kafka"))
	require.Contains(t, stack.Run(t, "env"), fmt.Sprintf("export KAFKA_BROKERS='127.0.0.1:%d'", stack.Base+14))
}

const script = "../../tools/stack.sh"
