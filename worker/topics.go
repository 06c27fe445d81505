package main

import (
	"context"
	"slices"

	"herald/internal/outboxes"
	"herald/internal/outboxes/kafka"
)

// connectTopics returns a producer of records, which connects when it is first used; nil:
// KAFKA_BROKERS is not set, no source has a topic, or this process serves no events. Then
// its health does not depend on Kafka.
func connectTopics(settings kafka.Settings, sources []outboxes.Source, part part) (*kafka.Producer, error) {
	toTopic := func(source outboxes.Source) bool { return source.Kafka != nil }
	if !settings.On() || !part.events || !slices.ContainsFunc(sources, toTopic) {
		return nil, nil
	}
	return kafka.New(settings)
}

// closeTopics lets the records that are under way end.
func closeTopics(topics *kafka.Producer) {
	if topics == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	topics.Close(ctx)
}
