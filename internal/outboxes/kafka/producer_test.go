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

	"herald/internal/outboxes"
	"herald/internal/outboxes/kafka"
	"herald/internal/outboxes/kafka/kafkatest"
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

func topicName() string { return "orders-" + uuid.NewString() }

func within(t *testing.T, limit time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// produce produces one record.
func produce(producer *kafka.Producer, ctx context.Context, record outboxes.Record) error {
	return producer.ProduceAll(ctx, []outboxes.Record{record})[0]
}

// Acknowledged records can be read, byte for byte.
func TestProduce(t *testing.T) {
	t.Parallel()

	for name, broker := range brokers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			producer, topic := newProducer(t, kafka.Settings{Brokers: []string{broker}}), topicName()
			kafkatest.CreateTopic(t, broker, topic, nil)
			require.NoError(t, producer.Ready(within(t, patience)))
			headers := []outboxes.Header{{Name: "event_id", Value: "7"}, {Name: "source", Value: "orders"}}
			value := []byte(" {\"b\": 1,\u00a0\"a\": \"\\u00e9\", \"a\": 2}\n\xff")
			require.NoError(t, produce(producer, within(t, patience), outboxes.Record{Topic: topic, Key: []byte("o-1"), Value: value, Headers: headers}))
			require.NoError(t, produce(producer, within(t, patience), outboxes.Record{Topic: topic}))

			got := kafkatest.Records(t, broker, topic, 2)

			require.Len(t, got, 2)
			require.Equal(t, value, got[0].Value)
			require.Equal(t, "o-1", string(got[0].Key))
			for i, header := range headers {
				require.Equal(t, header, outboxes.Header{Name: got[0].Headers[i].Key, Value: string(got[0].Headers[i].Value)})
			}
			require.Nil(t, got[1].Key)
			require.Nil(t, got[1].Value)
			require.Empty(t, got[1].Headers)
		})
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()

	small := map[string]string{"max.message.bytes": "2000"}
	tests := []struct {
		name     string
		settings map[string]string // of the topic; nil: the topic does not exist
		bytes    int
		want     outboxes.RefusedError
	}{
		{name: "unknown topic", want: outboxes.RefusedError{Code: "UNKNOWN_TOPIC_OR_PARTITION", Verdict: outboxes.RestTopic}},
		{name: "too large for the topic", settings: small, bytes: 4000, want: outboxes.RefusedError{Code: "MESSAGE_TOO_LARGE", Verdict: outboxes.FailRecord}},
		{name: "too large for any batch", settings: small, bytes: 2_000_000, want: outboxes.RefusedError{Code: "MESSAGE_TOO_LARGE", Verdict: outboxes.FailRecord}},
	}
	for where, broker := range brokers(t) {
		for _, tt := range tests {
			t.Run(where+"/"+tt.name, func(t *testing.T) {
				t.Parallel()

				producer, topic := newProducer(t, kafka.Settings{Brokers: []string{broker}}), topicName()
				if tt.settings != nil {
					kafkatest.CreateTopic(t, broker, topic, tt.settings)
				}
				err := produce(producer, within(t, patience), outboxes.Record{Topic: topic, Key: []byte("hunter2"), Value: noise(tt.bytes)})

				var refused *outboxes.RefusedError
				require.ErrorAs(t, err, &refused)
				tt.want.Topic = topic
				require.Equal(t, tt.want, *refused)
				require.NotContains(t, err.Error(), "hunter2")
			})
		}
	}
}

// Herald sends every size that brokers accept by default.
func TestLargestRecord(t *testing.T) {
	t.Parallel()

	for name, broker := range brokers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			producer, topic := newProducer(t, kafka.Settings{Brokers: []string{broker}}), topicName()
			kafkatest.CreateTopic(t, broker, topic, nil)
			require.NoError(t, produce(producer, within(t, patience), outboxes.Record{Topic: topic, Value: noise(1<<20 - 1000)}))
			require.Len(t, kafkatest.Records(t, broker, topic, 1), 1)
		})
	}
}

// A topic that is created later accepts the next attempt.
func TestTopicThatIsCreatedLater(t *testing.T) {
	t.Parallel()

	broker := kafkatest.NewCluster(t).Address
	producer, record := newProducer(t, kafka.Settings{Brokers: []string{broker}}), outboxes.Record{Topic: topicName(), Value: []byte("{}")}
	var refused *outboxes.RefusedError
	require.ErrorAs(t, produce(producer, within(t, patience), record), &refused)
	kafkatest.CreateTopic(t, broker, record.Topic, nil)
	require.Eventually(t, func() bool { return produce(producer, within(t, patience), record) == nil }, patience, time.Millisecond)
	require.Len(t, kafkatest.Records(t, broker, record.Topic, 1), 1)
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

// If the broker is down, the record waits: no broker judged it.
func TestBrokerThatComesBack(t *testing.T) {
	t.Parallel()

	cluster, topic := kafkatest.NewCluster(t), topicName()
	kafkatest.CreateTopic(t, cluster.Address, topic, nil)
	producer, record := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}}), outboxes.Record{Topic: topic, Value: []byte("{}")}
	require.NoError(t, produce(producer, within(t, patience), record))

	cluster.Stop()
	requireUnavailable(t, produce(producer, within(t, time.Second), record), "connection refused")
	requireUnavailable(t, producer.Ready(within(t, patience)), "connection refused")

	cluster.Start(t)
	require.NoError(t, produce(producer, within(t, patience), record))
	require.NoError(t, producer.Ready(within(t, patience)))
	require.GreaterOrEqual(t, len(kafkatest.Records(t, cluster.Address, topic, 2)), 2)
}

func requireUnavailable(t *testing.T, err error, why string) {
	t.Helper()
	var unavailable *outboxes.UnavailableError
	require.ErrorAs(t, err, &unavailable)
	require.ErrorContains(t, err, why)
	require.NotContains(t, err.Error(), "127.0.0.1")
}

func TestNoBroker(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t)
	cluster.Stop()
	producer := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}})
	requireUnavailable(t, produce(producer, within(t, time.Second), outboxes.Record{Topic: "orders"}), "connection refused")
}

func TestClose(t *testing.T) {
	t.Parallel()

	broker, topic := kafkatest.NewCluster(t).Address, topicName()
	kafkatest.CreateTopic(t, broker, topic, nil)
	producer := newProducer(t, kafka.Settings{Brokers: []string{broker}})
	require.NoError(t, produce(producer, within(t, patience), outboxes.Record{Topic: topic}))
	producer.Close(within(t, patience))
	requireUnavailable(t, produce(producer, within(t, patience), outboxes.Record{Topic: topic}), "closed")
	require.Error(t, producer.Ready(within(t, patience)))
	producer.Close(within(t, patience)) // a second Close is harmless
}

// A topic without write permission refuses records, until we get the permission.
func TestNotAuthorised(t *testing.T) {
	t.Parallel()

	const mechanism, password = "SCRAM-SHA-256", "hunter2"
	cluster := kafkatest.NewCluster(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "orders", "wallet"),
		kfake.User(mechanism, "herald", password,
			kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationWrite, Allow: true},
			kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "wallet", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationDescribe, Allow: true}))
	producer := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}, Mechanism: mechanism, Username: "herald", Password: password})

	require.NoError(t, produce(producer, within(t, patience), outboxes.Record{Topic: "orders"}))
	var refused *outboxes.RefusedError
	require.ErrorAs(t, produce(producer, within(t, patience), outboxes.Record{Topic: "wallet"}), &refused)
	require.Equal(t, outboxes.RefusedError{Topic: "wallet", Code: "TOPIC_AUTHORIZATION_FAILED", Verdict: outboxes.RestTopic}, *refused)
}
