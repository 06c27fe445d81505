package main

import (
	"context"
	"log/slog"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/kafka"
	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/rabbitmq"
	"herald/internal/source"
)

// wiredSource is an outbox that pollers poll, and that gauges watch.
type wiredSource struct {
	activities.Source
	state func(ctx context.Context) (notification.OutboxState, error)
}

// wiring of the sources: what they share.
type sourcesWiring struct {
	cfg    config.Config
	events *postgres.Store
	broker *rabbitmq.Broker
	topics *kafka.Producer // nil: KAFKA_BROKERS is not set
	orders activities.TopicOrders
	tables []*source.Table
}

// sources has one entry for each source, under the name that its pollers, its metrics and
// the histories of its events have. A source whose topics nobody can reach is off.
func (w *sourcesWiring) sources(ctx context.Context) (map[string]wiredSource, error) {
	wired := map[string]wiredSource{}
	for _, cfg := range w.cfg.Sources {
		if cfg.Kafka != nil && w.topics == nil {
			slog.Warn("KAFKA_BROKERS is not set: the events of a source wait for a worker that has it", "source", cfg.Name)
			if cfg.Name != notification.HeraldSource {
				continue
			}
		}
		if cfg.Name == notification.HeraldSource {
			wired[cfg.Name] = w.heralds(cfg)
			continue
		}
		other, err := w.other(ctx, cfg)
		if err != nil {
			return nil, err
		}
		wired[cfg.Name] = other
	}
	return wired, nil
}

// heralds is Herald's own outbox.
func (w *sourcesWiring) heralds(cfg notification.SourceConfig) wiredSource {
	return wiredSource{w.sourceOf(cfg, w.events), w.events.OutboxState}
}

// other is the outbox of another service.
func (w *sourcesWiring) other(ctx context.Context, cfg notification.SourceConfig) (wiredSource, error) {
	table, err := source.Open(ctx, cfg)
	if err != nil {
		return wiredSource{}, err
	}
	w.tables = append(w.tables, table)
	polled := w.sourceOf(cfg, &activities.AdoptedOutbox{Source: cfg, Table: table, Store: w.events, Topics: w.orders})
	polled.Table = table
	if cfg.Mode == notification.BatchMode {
		polled.Relay = &activities.Relay{Source: cfg, Table: relayTable{table}, Store: w.events, Topics: w.topics}
	}
	return wiredSource{polled, func(ctx context.Context) (notification.OutboxState, error) {
		state, err := table.State(ctx)
		if err == nil {
			state.Failed, err = w.events.FailedEvents(ctx, cfg.Name)
		}
		return state, err
	}}, nil
}

func (w *sourcesWiring) sourceOf(cfg notification.SourceConfig, outbox activities.Outbox) activities.Source {
	wired := activities.Source{Config: cfg, Outbox: outbox, Sinks: []activities.Sink{w.broker}, Interval: cfg.PollInterval, BatchSize: cfg.BatchSize}
	if cfg.Kafka != nil && w.topics != nil {
		wired.Topics = w.topics
	}
	return wired
}

// close ends the connections to the tables of other services.
func (w *sourcesWiring) close() {
	for _, table := range w.tables {
		table.Close()
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

// relayTable is a table as a relay reads it.
type relayTable struct{ *source.Table }

func (t relayTable) Snapshot(ctx context.Context) (activities.RelaySnapshot, error) {
	return t.Table.Snapshot(ctx)
}
