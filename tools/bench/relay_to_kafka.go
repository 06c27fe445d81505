package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// relayToKafkaSizes are the flags of the cases relay-to-kafka and relay-to-kafka-people.
type relayToKafkaSizes struct {
	Rows       int
	Keys       int
	Batch      int
	Partitions int
	people     bool
}

func relayToKafka() *comparison {
	return newRelayToKafka("relay-to-kafka", relayToKafkaSizes{Rows: 20_000})
}

func relayToKafkaAndPeople() *comparison {
	return newRelayToKafka("relay-to-kafka-people", relayToKafkaSizes{Rows: 5000, people: true})
}

func newRelayToKafka(name string, s relayToKafkaSizes) *comparison {
	inserting := ""
	if s.people {
		inserting = ", and inserts each row into event_outbox first"
	}
	return &comparison{
		name:  name,
		about: "rows from an outbox of the order service to a topic" + inserting,
		a:     "Herald" + inserting + "; counted from the first mark to the last",
		b:     "a plain loop: selects pending rows, produces them, waits for all and marks them" + inserting,
		named: true,
		flags: func(flags *flag.FlagSet) {
			flags.IntVar(&s.Rows, "rows", s.Rows, "rows of a round")
			flags.IntVar(&s.Keys, "keys", 1000, "different keys of these rows")
			flags.IntVar(&s.Batch, "batch", 500, "rows of a page")
			flags.IntVar(&s.Partitions, "partitions", 4, "partitions of each topic")
		},
		open:  s.open,
		goals: []goal{{figure: "rows", least: 0.9}},
	}
}

// relayToKafkaRounds runs the rounds of both sides. Each side has its table and its topic.
type relayToKafkaRounds struct {
	relayToKafkaSizes
	in   *installation
	loop *plainLoop
}

func (s *relayToKafkaSizes) open(ctx context.Context, stage *stage) (a, b round, err error) {
	if s.Keys < 1 || s.Batch < 1 || s.Batch > 1000 || s.Partitions < 1 || s.Rows <= s.Batch {
		return nil, nil, errors.New("the case needs a key, a partition, a batch of 1 to 1000 rows, and more rows than that")
	}
	r := &relayToKafkaRounds{relayToKafkaSizes: *s}
	if r.in, err = stage.relaying(ctx, s.Partitions, "herald", "loop"); err != nil {
		return nil, nil, err
	}
	if r.loop, err = newPlainLoop(r.in, table("loop"), r.in.topic("loop"), s.Batch, s.people); err != nil {
		return nil, nil, err
	}
	return r.a, r.b, r.in.start(ctx, fmt.Sprintf(`
- { name: %s, dialect: order-service, table: %s, kafka: { topic: %s, key: "{{.aggregate_id}}" }, poll_interval: 1s, batch_size: %d, people: %t }
`, r.in.name, table("herald"), r.in.topic("herald"), s.Batch, s.people))
}

// table returns the outbox of a side.
func table(side string) string { return "bench." + side }

func (in *installation) topic(side string) string { return in.name + "-" + side }

// relaying returns an installation with a table and a topic for each side. It starts no worker.
func (s *stage) relaying(ctx context.Context, partitions int, sides ...string) (in *installation, err error) {
	if in, err = s.install(ctx); err != nil {
		return nil, err
	}
	if err := in.connectKafka(); err != nil {
		return nil, err
	}
	for _, side := range sides {
		err := in.createTopic(ctx, in.topic(side), partitions)
		if err == nil {
			err = in.createTable(ctx, table(side))
		}
		if err != nil {
			return nil, err
		}
	}
	return in, nil
}

// roundTime limits one round.
const roundTime = 10 * time.Minute

func (r *relayToKafkaRounds) a(ctx context.Context) (*figures, error) {
	return r.round(ctx, "herald", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
}

func (r *relayToKafkaRounds) b(ctx context.Context) (*figures, error) {
	return r.round(ctx, "loop", r.loop.run)
}

// round fills a side's table and waits until all rows are in its topic.
func (r *relayToKafkaRounds) round(ctx context.Context, side string, send func(context.Context) error) (*figures, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	before, err := r.in.records(ctx, r.in.topic(side), r.Partitions)
	if err != nil {
		return nil, err
	}
	last, err := r.in.fill(ctx, table(side), "OrderCreated", r.Rows, r.Keys)
	if err != nil {
		return nil, err
	}
	sending, stop := context.WithCancel(ctx)
	sent := make(chan error, 1)
	go func() { sent <- send(sending) }()
	err = r.in.awaitSent(ctx, table(side), last)
	stop()
	if sendErr := <-sent; !errors.Is(sendErr, context.Canceled) {
		err = errors.Join(sendErr, err)
	}
	if err != nil {
		return nil, err
	}
	rate, err := r.in.rate(ctx, table(side))
	if err != nil {
		return nil, err
	}
	after, err := r.in.records(ctx, r.in.topic(side), r.Partitions)
	if err == nil && after-before != int64(r.Rows) {
		err = fmt.Errorf("the topic got %d records of %d rows", after-before, r.Rows)
	}
	f := &figures{}
	f.add("rows", "per second", rate)
	return f, errors.Join(err, r.in.awaitStarted(ctx))
}

// awaitStarted waits until the workflows of all events are started. Starts during the next round
// would slow it down.
func (in *installation) awaitStarted(ctx context.Context) error {
	return in.until(ctx, roundTime, "not all events start", func() (bool, error) {
		pending, err := in.count(ctx, "SELECT count(*) FROM event_outbox WHERE status = 'PENDING' AND source <> 'loop'")
		return pending == 0, err
	})
}

// topicTime limits a request about a topic.
const topicTime = 30 * time.Second

func (in *installation) createTopic(ctx context.Context, name string, partitions int) error {
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), -1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, in.kafka)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err == nil {
		in.AtEnd(func(ctx context.Context) error { return in.deleteTopic(ctx, name) })
	}
	return err
}

func (in *installation) deleteTopic(ctx context.Context, name string) error {
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.Topics, request.TopicNames = append(request.Topics, topic), []string{name}
	response, err := request.RequestWith(ctx, in.kafka)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}

// records returns the number of records in a topic.
func (in *installation) records(ctx context.Context, name string, partitions int) (count int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = name
	for n := range partitions {
		asked := kmsg.NewListOffsetsRequestTopicPartition()
		asked.Partition, asked.Timestamp = int32(n), -1 // the end
		topic.Partitions = append(topic.Partitions, asked)
	}
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID, request.Topics = -1, append(request.Topics, topic)
	response, err := request.RequestWith(ctx, in.kafka) // the client asks the leader of each partition
	if err != nil {
		return 0, err
	}
	for _, topic := range response.Topics {
		for _, found := range topic.Partitions {
			err = errors.Join(err, kerr.ErrorForCode(found.ErrorCode))
			count += found.Offset
		}
	}
	return count, err
}

// connectKafka connects to the brokers.
func (in *installation) connectKafka() (err error) {
	if os.Getenv("KAFKA_BROKERS") == "" {
		return errors.New("KAFKA_BROKERS is not set: run `make up`, then `make bench ARGS=…`")
	}
	in.brokers = strings.Split(os.Getenv("KAFKA_BROKERS"), ",")
	if in.kafka, err = kgo.NewClient(kgo.SeedBrokers(in.brokers...)); err != nil {
		return err
	}
	in.AtEnd(func(context.Context) error { in.kafka.Close(); return nil })
	return nil
}
