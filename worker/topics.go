package main

import (
	"context"

	"herald/internal/kafka"
)

// connectTopics returns a producer of records, which connects when it is first used; nil:
// KAFKA_BROKERS is not set, or this process serves no events.
func connectTopics(settings kafka.Settings, part part) (*kafka.Producer, error) {
	if !settings.On() || !part.events {
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
