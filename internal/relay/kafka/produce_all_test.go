package kafka_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"

	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
)

// numbered returns records of a topic with these keys. Their values are their numbers.
func numbered(topic string, keys ...string) []relay.Record {
	var records []relay.Record
	for n, key := range keys {
		record := relay.Record{Topic: topic, Value: fmt.Append(nil, n)}
		if key != "" {
			record.Key = []byte(key)
		}
		records = append(records, record)
	}
	return records
}

func arrived(t *testing.T, broker, topic string, number int) []string {
	t.Helper()
	var values []string
	for _, record := range kafkatest.Records(t, broker, topic, number) {
		values = append(values, string(record.Value))
	}
	return values
}

// In one partition, records keep their order with unique keys, shared keys, or no keys.
func TestProduceAll(t *testing.T) {
	t.Parallel()

	var own, few, none []string
	for n := range 700 {
		own, few, none = append(own, fmt.Sprint(n)), append(few, fmt.Sprint(n%3)), append(none, "")
	}
	for name, keys := range map[string][]string{"a key each": own, "three keys": few, "no key": none} {
		eachBroker(t, "/"+name, nil, func(t *testing.T, producer *kafka.Producer, broker, topic string) {
			for range 2 {
				for _, err := range producer.ProduceAll(within(t, patience), numbered(topic, keys...)) {
					require.NoError(t, err)
				}
			}
			byKey := map[string][]string{}
			for _, record := range kafkatest.Records(t, broker, topic, 2*len(keys)) {
				byKey[string(record.Key)] = append(byKey[string(record.Key)], string(record.Value))
			}
			for n, key := range keys {
				if key != "" {
					require.Equal(t, fmt.Sprint(n), byKey[key][0])
					byKey[key] = append(byKey[key][1:], byKey[key][0])
				}
			}
		})
	}
}

// A record that no broker accepts holds the later records of its key, at any position. All other
// records are accepted.
func TestProduceAllAroundARefusedRecord(t *testing.T) {
	t.Parallel()

	for name, bytes := range map[string]int{
		"too large for the topic": 4000, "too large for a batch with others": 950_000, "too large for the client": 2_000_000,
	} {
		eachBroker(t, "/"+name, map[string]string{"max.message.bytes": "2000"},
			func(t *testing.T, producer *kafka.Producer, broker, topic string) {
				for round := range 2 { // first to an unknown topic, then to a known one
					records := numbered(topic, secretKey, "b", secretKey, secretKey, "b", "", secretKey, "c")
					records[2].Value = noise(bytes)
					errs := producer.ProduceAll(within(t, patience), records)

					requireRefused(t, errs[2], relay.RefusedError{Topic: topic, Code: "MESSAGE_TOO_LARGE", Verdict: relay.FailRecord})
					require.ErrorIs(t, errs[3], relay.ErrKeyHeld)
					require.ErrorIs(t, errs[6], relay.ErrKeyHeld)
					for _, n := range []int{0, 1, 4, 5, 7} {
						require.NoError(t, errs[n], n)
					}
					values := arrived(t, broker, topic, 5*(round+1))
					require.ElementsMatch(t, []string{"0", "1", "4", "5", "7"}, values[5*round:])
					require.Less(t, slices.Index(values, "1"), slices.Index(values, "4"))
				}
			})
	}
}

// Flushes follow each other without a pause, and each contains a record that is too large. No record
// overtakes an earlier record of its key.
func TestProduceAllIsNotOvertaken(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t)
	producer := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}})
	for n := range 40 {
		topic := fmt.Sprintf("small-%d", n)
		kafkatest.CreateTopic(t, cluster.Address, topic, map[string]string{"max.message.bytes": "5000"})
		var want []string
		for page := range 3 {
			records := numbered(topic, slices.Repeat([]string{"a"}, 20)...)
			for i := range records {
				records[i].Value = fmt.Append(nil, 20*page+i)
				if page == 0 || i < 10 {
					want = append(want, string(records[i].Value))
				}
			}
			if page > 0 {
				records[10].Value = noise(9000)
			}
			producer.ProduceAll(t.Context(), records)
		}
		require.Equal(t, want, arrived(t, cluster.Address, topic, len(want)))
	}
}

// Many records are too large for one batch, but each is accepted.
func TestProduceAllOverTheBatchLimit(t *testing.T) {
	t.Parallel()

	eachBroker(t, "", map[string]string{"max.message.bytes": "2000"}, func(t *testing.T, producer *kafka.Producer, broker, topic string) {
		records := numbered(topic, slices.Repeat([]string{"a"}, 50)...)
		for n := range records {
			records[n].Headers = []relay.Header{{Name: "filler", Value: string(noise(150))}}
		}
		for _, err := range producer.ProduceAll(within(t, patience), records) {
			require.NoError(t, err)
		}
		for n, value := range arrived(t, broker, topic, 50) {
			require.Equal(t, fmt.Sprint(n), value)
		}
	})
}

// A missing topic does not affect other topics. Each of its keys gets one refusal.
func TestProduceAllToAnUnknownTopic(t *testing.T) {
	t.Parallel()

	eachBroker(t, "", nil, func(t *testing.T, producer *kafka.Producer, broker, topic string) {
		unknown := topicName()
		records := append(numbered(unknown, "a", "b", "a"), numbered(topic, "c", "a", "d")...)
		require.NoError(t, producer.ProduceAll(within(t, patience), numbered(topic, "a"))[0])
		errs := producer.ProduceAll(within(t, patience), records)

		for _, err := range errs[:2] {
			requireRefused(t, err, relay.RefusedError{Topic: unknown, Code: "UNKNOWN_TOPIC_OR_PARTITION", Verdict: relay.BackOffTopic})
		}
		require.ErrorIs(t, errs[2], relay.ErrKeyHeld)
		require.NoError(t, errs[3])
		require.ErrorIs(t, errs[4], relay.ErrKeyHeld, "a held key holds its records in every topic")
		require.NoError(t, errs[5])
		require.Equal(t, []string{"0", "0", "2"}, arrived(t, broker, topic, 3))
	})
}

// While the broker is unreachable, no record is refused. When it is back, records keep their order.
func TestProduceAllWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()

	cluster, topic := kafkatest.NewCluster(t), topicName()
	kafkatest.CreateTopic(t, cluster.Address, topic, nil)
	producer := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}})
	records := numbered(topic, "a", "b", "a", "a")
	require.NoError(t, producer.ProduceAll(within(t, patience), records[:1])[0])

	cluster.Stop()
	errs := producer.ProduceAll(within(t, 2*time.Second), records[1:])
	requireUnavailable(t, errs[0], "connection refused")
	requireUnavailable(t, errs[1], "connection refused")
	require.ErrorIs(t, errs[2], relay.ErrKeyHeld)
	requireUnavailable(t, producer.Ready(within(t, patience)), "connection refused")
	fresh := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}})
	requireUnavailable(t, produce(fresh, within(t, time.Second), records[0]), "connection refused")

	cluster.Start(t)
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(producer.ProduceAll(within(t, patience), records[1:]), func(err error) bool { return err != nil })
	}, patience, time.Millisecond)
	require.NoError(t, producer.Ready(within(t, patience)))
	values := arrived(t, cluster.Address, topic, 4)
	require.Equal(t, "0", values[0])
	require.Less(t, slices.Index(values, "2"), slices.Index(values, "3"))
}

// A partition without a leader delays only its own records. Other records, of this call and other
// calls, are accepted. The error is the broker's, not a time-out.
func TestProduceAllWithALeaderlessPartition(t *testing.T) {
	t.Parallel()

	cluster := kafkatest.NewCluster(t)
	kafkatest.CreateTopic(t, cluster.Address, "leaderless", nil)
	kafkatest.CreateTopic(t, cluster.Address, "orders", nil)
	end := cluster.Refuse("leaderless", kerr.NotLeaderForPartition)
	producer := newProducer(t, kafka.Settings{Brokers: []string{cluster.Address}})
	records := append(numbered("leaderless", "a", "b", "a"), numbered("orders", "c", "d")...)
	ended := make(chan []error, 1)
	ctx := within(t, patience)
	go func() { ended <- producer.ProduceAll(ctx, records) }()
	for range 20 {
		require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: "orders"}))
	}
	errs := <-ended
	requireUnavailable(t, errs[0], "NOT_LEADER")
	requireUnavailable(t, errs[1], "NOT_LEADER")
	require.ErrorIs(t, errs[2], relay.ErrKeyHeld)
	require.NoError(t, errs[3])
	require.NoError(t, errs[4])
	end()
	require.NoError(t, produce(producer, within(t, patience), relay.Record{Topic: "leaderless"}))
}
