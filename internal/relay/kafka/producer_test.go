package kafka_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
)

// patience limits each wait for a running broker.
const patience = time.Minute

func newProducer(t *testing.T, s kafka.Settings) *kafka.Producer {
	t.Helper()
	producer, err := kafka.New(s)
	require.NoError(t, err)
	t.Cleanup(func() { producer.Close(context.WithoutCancel(t.Context())) })
	return producer
}

// brokers returns a broker in this process, and the stack's broker if there is one.
func brokers(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"of the test": kafkatest.NewCluster(t).Address}
	if stack := os.Getenv("KAFKA_BROKERS"); stack != "" {
		all["of the stack"], _, _ = strings.Cut(stack, ",")
	}
	return all
}

// eachBroker runs a test at each broker, with a new topic that has these settings.
func eachBroker(
	t *testing.T, name string, settings map[string]string, test func(t *testing.T, producer *kafka.Producer, broker, topic string),
) {
	t.Helper()
	for where, broker := range brokers(t) {
		t.Run(where+name, func(t *testing.T) {
			t.Parallel()

			topic := topicName()
			kafkatest.CreateTopic(t, broker, topic, settings)
			test(t, newProducer(t, kafka.Settings{Brokers: []string{broker}}), broker, topic)
		})
	}
}

func topicName() string { return "orders-" + uuid.NewString() }

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// produce produces one record.
func produce(producer *kafka.Producer, ctx context.Context, record relay.Record) error {
	return producer.ProduceAll(ctx, []relay.Record{record})[0]
}

// Acknowledged records can be read, byte for byte.
func TestProduce(t *testing.T) {
	t.Parallel()

	eachBroker(t, "", nil, func(t *testing.T, producer *kafka.Producer, broker, topic string) {
		require.NoError(t, producer.Ready(within(t, patience)))
		headers := []relay.Header{{Name: "event_id", Value: "7"}, {Name: "source", Value: "orders"}}
		value := []byte(" {\"b\": 1,\u00a0\"a\": \"\\u00e9\", \"a\": 2}\n\xff")
		require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: topic, Key: []byte("o-1"), Value: value, Headers: headers}))
		require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: topic}))

		got := kafkatest.Records(t, broker, topic, 2)

		require.Len(t, got, 2)
		require.Equal(t, value, got[0].Value)
		require.Equal(t, "o-1", string(got[0].Key))
		for i, header := range headers {
			require.Equal(t, header, relay.Header{Name: got[0].Headers[i].Key, Value: string(got[0].Headers[i].Value)})
		}
		require.Nil(t, got[1].Key)
		require.Nil(t, got[1].Value)
		require.Empty(t, got[1].Headers)
	})
}

// Herald sends records of every size that brokers accept by default.
func TestLargestRecord(t *testing.T) {
	t.Parallel()

	eachBroker(t, "", nil, func(t *testing.T, producer *kafka.Producer, broker, topic string) {
		require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: topic, Value: noise(1<<20 - 1000)}))
		require.Len(t, kafkatest.Records(t, broker, topic, 1), 1)
	})
}

// noise returns bytes that do not compress.
func noise(bytes int) []byte {
	var text strings.Builder
	for text.Len() < bytes {
		id := uuid.New()
		text.Write(id[:])
	}
	return []byte(text.String()[:bytes])
}

// secretKey is a key that no error may show.
const secretKey = "hunter2"

// requireRefused asserts the refusal of a record.
func requireRefused(t *testing.T, err error, want relay.RefusedError) {
	t.Helper()
	var refused *relay.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, want, *refused)
	require.NotContains(t, err.Error(), secretKey)
}

func requireUnavailable(t *testing.T, err error, why string) {
	t.Helper()
	var unavailable *relay.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.ErrorContains(t, err, why)
	require.NotContains(t, err.Error(), "127.0.0.1")
}

func TestClose(t *testing.T) {
	t.Parallel()

	broker, topic := kafkatest.NewCluster(t).Address, topicName()
	kafkatest.CreateTopic(t, broker, topic, nil)
	producer := newProducer(t, kafka.Settings{Brokers: []string{broker}})
	require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: topic}))
	producer.Close(within(t, patience))
	requireUnavailable(t, produce(producer, within(t, patience), relay.Record{Topic: topic}), "closed")
	require.Error(t, producer.Ready(within(t, patience)))
	producer.Close(within(t, patience)) // a second Close is harmless
}

// A topic without write permission refuses records, until we get the permission.
func TestNotAuthorised(t *testing.T) {
	t.Parallel()

	const mechanism, password = "SCRAM-SHA-256", "hunter2"
	cluster := kafkatest.NewCluster(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "orders", "wallet"),
		kfake.User(mechanism, "herald", password,
			kfake.ACL{
				Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationWrite,
				Allow: true,
			},
			kfake.ACL{
				Resource: kmsg.ACLResourceTypeTopic, Name: "wallet", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe,
				Allow: true,
			}))
	producer := newProducer(t,
		kafka.Settings{Brokers: []string{cluster.Address}, Mechanism: mechanism, Username: "herald", Password: password})

	require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: "orders"}))
	requireRefused(t, produce(producer, within(t, patience), relay.Record{Topic: "wallet"}),
		relay.RefusedError{Topic: "wallet", Code: "TOPIC_AUTHORIZATION_FAILED", Verdict: relay.BackOffTopic})
}
