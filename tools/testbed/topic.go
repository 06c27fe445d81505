package testbed

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// topicTime limits a request about a topic.
const topicTime = 30 * time.Second

// DialKafka connects to the brokers of KAFKA_BROKERS.
func DialKafka(options ...kgo.Opt) (*kgo.Client, error) {
	brokers := os.Getenv("KAFKA_BROKERS")
	if brokers == "" {
		return nil, errors.New("KAFKA_BROKERS is not set: run `make up`")
	}
	return kgo.NewClient(append(options, kgo.SeedBrokers(strings.Split(brokers, ",")...))...)
}

// CreateTopic creates a topic.
func (l *Leftovers) CreateTopic(ctx context.Context, name string, partitions int) error {
	kafka, err := DialKafka()
	if err != nil {
		return err
	}
	defer kafka.Close()
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, int32(partitions), -1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, kafka)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err == nil {
		l.AtEnd(func(ctx context.Context) error { return deleteTopic(ctx, name) })
	}
	return err
}

func deleteTopic(ctx context.Context, name string) error {
	kafka, err := DialKafka()
	if err != nil {
		return err
	}
	defer kafka.Close()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	request := kmsg.NewPtrDeleteTopicsRequest()
	request.Topics, request.TopicNames = append(request.Topics, topic), []string{name}
	response, err := request.RequestWith(ctx, kafka)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(response.Topics[0].ErrorCode)
}
