package main

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

// topicTime bounds a request about a topic.
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
		in.atEnd(func(ctx context.Context) error { return in.deleteTopic(ctx, name) })
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

// records is how many records a topic has.
func (in *installation) records(ctx context.Context, name string) (count int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	cluster, err := in.metadata(ctx, name)
	if err != nil {
		return 0, err
	}
	for _, partition := range cluster.Topics[0].Partitions {
		asked := kmsg.NewListOffsetsRequestTopicPartition()
		asked.Partition, asked.Timestamp = partition.Partition, -1 // the end
		topic := kmsg.NewListOffsetsRequestTopic()
		topic.Topic, topic.Partitions = name, append(topic.Partitions, asked)
		request := kmsg.NewPtrListOffsetsRequest()
		request.ReplicaID, request.Topics = -1, append(request.Topics, topic)
		response, err := in.kafka.Broker(int(partition.Leader)).Request(ctx, request)
		if err != nil {
			return 0, err
		}
		found := response.(*kmsg.ListOffsetsResponse).Topics[0].Partitions[0]
		if err := kerr.ErrorForCode(found.ErrorCode); err != nil {
			return 0, err
		}
		count += found.Offset
	}
	return count, nil
}

// metadata is what the cluster says of itself and of a topic.
func (in *installation) metadata(ctx context.Context, topic string) (*kmsg.MetadataResponse, error) {
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &topic
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = append(request.Topics, asked)
	response, err := request.RequestWith(ctx, in.kafka)
	if err == nil && len(response.Topics) == 0 {
		err = errors.New("the broker does not know the topic")
	}
	return response, err
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
	in.atEnd(func(context.Context) error { in.kafka.Close(); return nil })
	return nil
}
