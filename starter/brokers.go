package main

import (
	"context"

	"herald/internal/check"
	"herald/internal/config"
	"herald/internal/operate"
	"herald/internal/outboxes/kafka"
)

// topicBrokers lists and creates Kafka topics.
type topicBrokers interface {
	check.Brokers
	operate.TopicCreator
}

// brokers returns Kafka's brokers, or nil if KAFKA_BROKERS is not set. It connects at the first
// request. The caller must call done.
func (a *app) brokers() (brokers topicBrokers, done func(), err error) {
	var settings kafka.Settings
	if err := config.SendersFrom(a.environment, settings.Read); err != nil {
		return nil, nil, misset(err)
	}
	if !settings.On() {
		return nil, func() {}, nil
	}
	producer, err := kafka.New(settings)
	if err != nil {
		return nil, nil, misset(err)
	}
	return producer, func() { producer.Close(context.Background()) }, nil
}
