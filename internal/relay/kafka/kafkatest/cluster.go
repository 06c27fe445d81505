// Package kafkatest gives tests brokers, topics and received records.
package kafkatest

import (
	"context"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// patience limits each wait for a broker.
const patience = time.Minute

// Cluster is a broker in the test's process. It keeps its data when it stops.
type Cluster struct {
	Address string // host:port
	options []kfake.Opt
	running *kfake.Cluster
}

// NewCluster starts one broker, or more with an option. They stop at the end of the test.
func NewCluster(t testing.TB, options ...kfake.Opt) *Cluster {
	t.Helper()
	c := &Cluster{options: append([]kfake.Opt{kfake.NumBrokers(1), kfake.DataDir(t.TempDir())}, options...)}
	c.Start(t)
	t.Cleanup(c.Stop)
	return c
}

// Start starts the broker again at the same address.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	options := c.options
	if c.Address != "" {
		_, port, err := net.SplitHostPort(c.Address)
		require.NoError(t, err)
		number, err := strconv.Atoi(port)
		require.NoError(t, err)
		options = append(options, kfake.Ports(number))
	}
	running, err := kfake.NewCluster(options...)
	require.NoError(t, err)
	c.running, c.Address = running, running.ListenAddrs()[0]
}

// Stop stops the broker and keeps its data.
func (c *Cluster) Stop() { c.running.Close() }

// CreateTopic creates a topic with one partition, and settings such as max.message.bytes.
func CreateTopic(t testing.TB, broker, topic string, settings map[string]string) {
	t.Helper()
	CreateReplicated(t, broker, topic, 1, settings)
}

// CreateReplicated is [CreateTopic] with several replicas.
func CreateReplicated(t testing.TB, broker, topic string, replicas int16, settings map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	configs := map[string]*string{}
	for name, value := range settings {
		configs[name] = &value
	}
	_, err := kadm.NewClient(client(t, broker)).CreateTopic(ctx, 1, replicas, configs, topic)
	require.NoError(t, err)
}

// Records waits until a topic has a number of records, and returns all its records.
func Records(t testing.TB, broker, topic string, number int) []*kgo.Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	consumer := client(t, broker, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	var records []*kgo.Record
	for len(records) < number {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err0(), "%s has %d records of %d", topic, len(records), number)
		records = append(records, fetches.Records()...)
	}
	return records
}

// EventIDs waits until a topic has records of a number of events. It returns the number of
// records per event id, from their headers. It stores no records, so there may be many.
func EventIDs(t testing.TB, broker, topic string, number int) map[string]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	consumer := client(t, broker, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	ids := map[string]int{}
	for len(ids) < number {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err0(), "%s has the records of %d events of %d", topic, len(ids), number)
		fetches.EachRecord(func(record *kgo.Record) {
			for _, header := range record.Headers {
				if header.Key == "event_id" {
					ids[string(header.Value)]++
				}
			}
		})
	}
	return ids
}

func client(t testing.TB, broker string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(broker))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// Refuse answers each record for a topic with an error, until the caller calls end.
func (c *Cluster) Refuse(topic string, word *kerr.Error) (end func()) {
	fault := c.running.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: word, Count: -1})
	return fault.Remove
}
