package main

import (
	"context"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
)

// wiredSource is an outbox that pollers poll, and that gauges watch.
type wiredSource struct {
	activities.Source
	state func(ctx context.Context) (notification.OutboxState, error)
}

// newSources has one entry for each source, under the name that its pollers, its
// metrics and the histories of its events have.
func newSources(cfg config.Config, events *postgres.Store, broker *rabbitmq.Broker) map[string]wiredSource {
	return map[string]wiredSource{
		notification.HeraldSource: {
			Source: activities.Source{
				Outbox: events, Sinks: []activities.Sink{broker}, Interval: cfg.OutboxPollInterval, BatchSize: cfg.OutboxBatchSize,
			},
			state: events.OutboxState,
		},
	}
}

// polled is what activities need of the sources.
func polled(sources map[string]wiredSource) map[string]activities.Source {
	polled := map[string]activities.Source{}
	for name, source := range sources {
		polled[name] = source.Source
	}
	return polled
}
