package check_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"herald/internal/check"
	"herald/internal/db/postgrestest"
	"herald/internal/relay"
	"herald/internal/relay/kafka"
	"herald/internal/relay/kafka/kafkatest"
)

// A topic should take records while a broker is down, and lose none if the broker's disk breaks.
func TestTopicCopies(t *testing.T) {
	t.Parallel()

	db, cluster := postgrestest.New(t), kafkatest.NewCluster(t, kfake.NumBrokers(3))
	brokers := must(kafka.New(kafka.Settings{Brokers: []string{cluster.Address}}))(t)
	t.Cleanup(func() { brokers.Close(t.Context()) })
	for topic, tt := range map[string]struct {
		replicas, minInSync int
		mistake, advice     string
	}{
		"safe":        {replicas: 3, minInSync: 2},
		"alone":       {replicas: 1, minInSync: 1, advice: "only one broker has: min.insync.replicas is 1, for 1 replicas"},
		"unconfirmed": {replicas: 3, minInSync: 1, advice: "only one broker has: min.insync.replicas is 1, for 3 replicas"},
		"brittle":     {replicas: 3, minInSync: 3, mistake: "while a single broker is down: min.insync.replicas is 3, for 3 replicas"},
		"stuck":       {replicas: 2, minInSync: 3, mistake: "it takes no record: 2 of 2 replicas are in sync, and min.insync.replicas is 3"},
	} {
		kafkatest.CreateReplicated(t, cluster.Address, topic, int16(tt.replicas),
			map[string]string{"min.insync.replicas": strconv.Itoa(tt.minInSync)})
		result := check.Run(t.Context(), check.Topics(db, brokers, toTopic(topic)))
		requireFinding(t, result.Mistakes, topic, tt.mistake)
		requireFinding(t, result.Advice, topic, tt.advice)
	}
}

// Without the right to read the settings of a topic, the check says which right it lacks.
func TestTopicSettingsRefused(t *testing.T) {
	t.Parallel()

	const mechanism, password = "SCRAM-SHA-256", "hunter2"
	cluster := kafkatest.NewCluster(t, kfake.EnableSASL(), kfake.EnableACLs(), kfake.SeedTopics(1, "orders"),
		kfake.User(mechanism, "herald", password,
			kfake.ACL{
				Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: kmsg.ACLOperationWrite,
				Allow: true,
			}))
	brokers := must(kafka.New(kafka.Settings{
		Brokers: []string{cluster.Address}, Mechanism: mechanism, Username: "herald", Password: password,
	}))(t)
	defer brokers.Close(t.Context())

	result := check.Run(t.Context(), check.Topics(postgrestest.New(t), brokers, toTopic("orders")))
	require.Empty(t, result.Mistakes)
	requireFinding(t, result.Advice, "orders", "its min.insync.replicas cannot be read: TOPIC_AUTHORIZATION_FAILED")
	require.Equal(t, "grant Herald DescribeConfigs on the topic", result.Advice[0].Remedy)
}

func toTopic(topic string) []relay.Source {
	return []relay.Source{{Name: "orders", Kafka: &relay.KafkaRoute{Topic: topic}}}
}

// requireFinding requires one finding about a topic, or none if problem is empty.
func requireFinding(t *testing.T, found []check.Mistake, topic, problem string) {
	t.Helper()
	if problem == "" {
		require.Empty(t, found)
		return
	}
	require.Len(t, found, 1)
	require.Equal(t, "topic "+topic+" of source orders", found[0].Where())
	require.Contains(t, found[0].Problem, problem)
	require.NotEmpty(t, found[0].Remedy)
}
