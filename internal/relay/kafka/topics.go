package kafka

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"herald/internal/relay"
)

// MissingTopics returns the topics that the brokers do not have or hide from us, with the
// brokers' error.
func (p *Producer) MissingTopics(ctx context.Context, topics []string) (map[string]string, error) {
	found, err := p.metadata(ctx, topics)
	missing := map[string]string{}
	for _, topic := range found {
		word := kerr.TypedErrorForCode(topic.ErrorCode)
		if word != nil && topic.Topic != nil && verdicts[word] == relay.BackOffTopic {
			missing[*topic.Topic] = word.Message
		}
	}
	return missing, err
}

// metadata creates no topic.
func (p *Producer) metadata(ctx context.Context, topics []string) ([]kmsg.MetadataResponseTopic, error) {
	request := kmsg.NewPtrMetadataRequest()
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, topic)
	}
	response, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return nil, p.failure("", err)
	}
	return response.Topics, nil
}

const minInSync = "min.insync.replicas"

// TopicCopies returns the number of brokers that have the records of each topic. It omits topics that the
// brokers do not have or do not describe.
func (p *Producer) TopicCopies(ctx context.Context, topics []string) (map[string]relay.TopicCopies, error) {
	found, err := p.metadata(ctx, topics)
	if err != nil {
		return nil, err
	}
	copies := map[string]relay.TopicCopies{}
	request := kmsg.NewPtrDescribeConfigsRequest()
	for _, topic := range found {
		if topic.ErrorCode != 0 || topic.Topic == nil || len(topic.Partitions) == 0 {
			continue
		}
		least := relay.TopicCopies{Replicas: math.MaxInt, InSync: math.MaxInt}
		for _, partition := range topic.Partitions {
			least.Replicas, least.InSync = min(least.Replicas, len(partition.Replicas)), min(least.InSync, len(partition.ISR))
		}
		copies[*topic.Topic] = least
		resource := kmsg.NewDescribeConfigsRequestResource()
		resource.ResourceType, resource.ResourceName, resource.ConfigNames = kmsg.ConfigResourceTypeTopic, *topic.Topic, []string{minInSync}
		request.Resources = append(request.Resources, resource)
	}
	response, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return nil, p.failure("", err)
	}
	for _, resource := range response.Resources {
		topic := copies[resource.ResourceName]
		if err := kerr.TypedErrorForCode(resource.ErrorCode); err != nil {
			topic.Refused = err.Message
		}
		for _, setting := range resource.Configs {
			if setting.Name == minInSync && setting.Value != nil {
				topic.MinInSync, _ = strconv.Atoi(*setting.Value) // the brokers store only numbers
			}
		}
		copies[resource.ResourceName] = topic
	}
	return copies, nil
}

// CreateTopic creates a topic with the brokers' default numbers of partitions and replicas.
func (p *Producer) CreateTopic(ctx context.Context, name string) error {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
	request := kmsg.NewPtrCreateTopicsRequest()
	request.Topics = append(request.Topics, topic)
	response, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return p.failure("", err)
	}
	if err := kerr.ErrorForCode(response.Topics[0].ErrorCode); err != nil && err != kerr.TopicAlreadyExists {
		return fmt.Errorf("topic %q was not created: %w", name, err)
	}
	return nil
}
