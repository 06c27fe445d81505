package kafka

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"herald/internal/outboxes"
)

// MissingTopics returns the topics that the brokers do not have or hide from us, with the
// brokers' error.
func (p *Producer) MissingTopics(ctx context.Context, topics []string) (map[string]string, error) {
	request := kmsg.NewPtrMetadataRequest() // creates no topic
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = kmsg.StringPtr(name)
		request.Topics = append(request.Topics, topic)
	}
	response, err := request.RequestWith(ctx, p.client)
	if err != nil {
		return nil, p.failure("", err)
	}
	missing := map[string]string{}
	for _, topic := range response.Topics {
		word := kerr.TypedErrorForCode(topic.ErrorCode)
		if word != nil && topic.Topic != nil && verdicts[word] == outboxes.RestTopic {
			missing[*topic.Topic] = word.Message
		}
	}
	return missing, nil
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
