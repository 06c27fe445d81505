package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"herald/activities"
	"herald/internal/config"
	"herald/internal/db"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/relay"
	"herald/internal/relay/dialects"
	"herald/internal/relay/endpoint"
	"herald/internal/relay/kafka"
)

// wiredSource is an outbox for pollers, with its state for the metrics.
type wiredSource struct {
	activities.Source
	state func(ctx context.Context) (outboxState, error)
}

// outboxState counts an outbox's waiting and failed rows, and its resting topics.
type outboxState struct {
	notification.OutboxState
	Resting int
}

// sourcesWiring holds the parts that the sources share.
type sourcesWiring struct {
	cfg    config.Config
	events *db.DB
	topics *kafka.Producer    // nil if connectTopics returns nil
	hook   *endpoint.Endpoint // nil: LIFECYCLE_WEBHOOK_URL is not set
	tables []*dialects.Table
}

// sources wires each source, by the name in pollers, metrics and histories of events. Without
// KAFKA_BROKERS it omits other services' sources that have topics.
func (w *sourcesWiring) sources(ctx context.Context) (map[string]wiredSource, error) {
	wired := map[string]wiredSource{}
	for _, source := range w.cfg.Sources {
		if missing := w.missing(source); missing != "" {
			slog.Warn(missing+" is not set: the rows of a source wait for a worker that has it", "source", source.Name)
			if !source.IsHerald() {
				continue
			}
			source.Kafka = nil
		}
		each, err := w.wire(ctx, source)
		if err != nil {
			return nil, err
		}
		wired[source.Name] = each
	}
	return wired, nil
}

// missing returns the setting that a source's destination lacks; empty: none.
func (w *sourcesWiring) missing(source relay.Source) string {
	switch {
	case source.Kafka != nil && w.topics == nil:
		return "KAFKA_BROKERS"
	case source.Webhook && w.hook == nil:
		return "LIFECYCLE_WEBHOOK_URL"
	default:
		return ""
	}
}

// adoptedEvents is the store of events from another service's outbox. Each event is a copy of a
// row.
type adoptedEvents struct {
	event.Store
	source string
	hints  chan struct{}
}

// ClaimEvents claims events of the source.
func (e *adoptedEvents) ClaimEvents(
	ctx context.Context, owner string, limit int, lease time.Duration,
) ([]notification.PendingEvent, error) {
	return e.Store.ClaimEventsOf(ctx, e.source, owner, limit, lease)
}

// ListenEvents calls wake when this process has adopted rows.
func (e *adoptedEvents) ListenEvents(ctx context.Context, wake func()) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.hints:
			wake()
		}
	}
}

func (e *adoptedEvents) hint() {
	select {
	case e.hints <- struct{}{}:
	default: // a hint is already waiting
	}
}

// wire connects a source. Herald's own outbox needs a mover only if it has a topic.
func (w *sourcesWiring) wire(ctx context.Context, source relay.Source) (wiredSource, error) {
	wired := wiredSource{Source: activities.Source{Interval: source.PollInterval, BatchSize: w.cfg.OutboxBatchSize}}
	if source.IsHerald() {
		events := event.On(w.events)
		wired.Outbox = events
		wired.state = w.withRows(source.Name, events.OutboxState)
		if source.Kafka == nil {
			return wired, nil
		}
	}
	table, err := dialects.Open(ctx, source)
	if err != nil {
		return wired, err
	}
	w.tables = append(w.tables, table)
	wired.Mover = &relay.Mover{Source: source, Table: table, Memory: relay.On(w.events)}
	if source.Kafka != nil {
		wired.Mover.Topics = w.topics
	} else if source.Webhook {
		wired.Mover.Topics = w.hook
	}
	if source.IsHerald() {
		wired.Mover.Source.People = false // the rows are already events
		return wired, nil
	}
	if source.People {
		events := &adoptedEvents{event.On(w.events), source.Name, make(chan struct{}, 1)}
		wired.Outbox, wired.Mover.Adopted = events, events.hint
	}
	wired.state = w.withRows(source.Name, func(ctx context.Context) (notification.OutboxState, error) {
		failed, err := relay.On(w.events).FailedKeys(ctx, source.Name)
		if err != nil {
			return notification.OutboxState{}, err
		}
		return table.State(ctx, failed)
	})
	return wired, nil
}

// withRows adds a source's failed rows and resting topics, from Herald's database.
func (w *sourcesWiring) withRows(
	name string, read func(context.Context) (notification.OutboxState, error),
) func(context.Context) (outboxState, error) {
	return func(ctx context.Context) (outboxState, error) {
		state, err := read(ctx)
		if err != nil {
			return outboxState{}, err
		}
		failed, resting, err := relay.On(w.events).SourceState(ctx, name)
		if name != notification.HeraldSource {
			state.Failed = 0 // Herald's database has the number of failed rows
		}
		state.Failed += failed
		return outboxState{state, resting}, err
	}
}

// close closes the connections to the sources' tables.
func (w *sourcesWiring) close() {
	for _, table := range w.tables {
		table.Close()
	}
}

// polled returns the part of the sources that the activities need.
func polled(sources map[string]wiredSource) map[string]activities.Source {
	polled := map[string]activities.Source{}
	for name, source := range sources {
		polled[name] = source.Source
	}
	return polled
}

// connectTopics returns a producer of records, which connects at its first use. It returns nil if
// KAFKA_BROKERS is not set, no source has a topic, or this process serves no events. Then the
// process's health does not depend on Kafka.
func connectTopics(settings kafka.Settings, sources []relay.Source, part part) (*kafka.Producer, error) {
	toTopic := func(source relay.Source) bool { return source.Kafka != nil }
	if !settings.On() || !part.events || !slices.ContainsFunc(sources, toTopic) {
		return nil, nil
	}
	return kafka.New(settings)
}

// closeTopics waits for the records in flight, for up to stopTimeout.
func closeTopics(topics *kafka.Producer) {
	if topics == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	topics.Close(ctx)
}
