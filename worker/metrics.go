package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"herald/activities"
	"herald/internal/health"
	"herald/internal/limit"
	"herald/internal/notification"
)

// metrics holds the metrics of the process and of its servers.
type metrics struct {
	temporal client.MetricsHandler // the metrics of Temporal's SDK and of the activities
	page     http.Handler          // all metrics, in Prometheus's format
}

// watched holds the functions that each scrape of the metrics calls.
type watched struct {
	sources map[string]wiredSource
	broker  func() error // returns nil if messages can be published
	queues  func(context.Context) (map[string]int, error)
	topics  func(context.Context) error // nil if no source has a topic

	followUps func(context.Context) (notification.FollowUpState, error)
	draining  func(context.Context) (int64, error) // open workflows of old generations
	lost      func(context.Context) (int64, error) // pollers that Temporal has lost
	sweep     func(context.Context) (notification.Sweep, error)
	senders   map[notification.Channel]activities.Sender
	circuits  *limit.Circuits
}

const (
	// watchTimeout limits each call to a broker or a source. If a call hangs, the scrape lacks only
	// its metrics.
	watchTimeout = 2 * time.Second
	// queueLabel is the label with the name of a broker's queue.
	queueLabel = "queue"
)

// newMetrics sets up the metrics of this process, without global variables.
func newMetrics(watch watched) (metrics, error) {
	registry := health.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return metrics{}, fmt.Errorf("set up metrics: %w", err)
	}
	meter := sdk.NewMeterProvider(sdk.WithReader(reader), sdk.WithView(view)).Meter("herald")
	if err := errors.Join(watch.register(meter), watch.registerSenders(meter)); err != nil {
		return metrics{}, fmt.Errorf("set up metrics: %w", err)
	}
	return metrics{
		temporal: opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
			Meter:                meter,
			UseMonotonicCounters: true,
			OnError:              func(err error) { slog.Warn("cannot record a metric", "error", err) },
		}),
		page: health.MetricsPage(registry),
	}, nil
}

// seconds are the upper bounds of all timers' buckets. Service levels may promise 5 or 10 seconds,
// and the largest bound is the maximum retry interval.
var seconds = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900}

// view sets the timers' buckets. It removes the labels that the SDK adds to the activities'
// metrics, such as the activity type and the task queue.
func view(instrument sdk.Instrument) (sdk.Stream, bool) {
	stream := sdk.Stream{Name: instrument.Name, Description: instrument.Description, Unit: instrument.Unit}
	if strings.HasPrefix(instrument.Name, "herald_") {
		var labels []attribute.Key
		for _, name := range append(activities.Labels(), queueLabel) {
			labels = append(labels, attribute.Key(name))
		}
		stream.AttributeFilter = attribute.NewAllowKeysFilter(labels...)
		if stream.Description == "" {
			stream.Description = activities.MetricHelp(instrument.Name) // Temporal's metrics handler accepts no help text
		}
	}
	if instrument.Kind == sdk.InstrumentKindHistogram {
		stream.Aggregation = sdk.AggregationExplicitBucketHistogram{Boundaries: seconds}
	}
	return stream, true
}

// register adds the gauges. Each scrape reads their values.
func (w watched) register(meter metric.Meter) error {
	var failed []error
	var observed []metric.Observable
	gauge := func(name, meaning string, options ...metric.Float64ObservableGaugeOption) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge(name, append(options, metric.WithDescription(meaning))...)
		failed, observed = append(failed, err), append(observed, g)
		return g
	}
	brokerUp := gauge("herald_broker_up", "1: messages can be published to the broker.")
	kafkaUp := gauge("herald_kafka_up", "1: a Kafka broker answered when the metrics were read.")
	databaseUp := gauge("herald_database_up", "1: the database answered when the metrics were read.")
	pending := gauge("herald_outbox_pending", "Events that wait to start, counted up to 100,000.")
	rejected := gauge("herald_outbox_failed", "Events that could not start, counted up to 100,000.")
	oldest := gauge("herald_outbox_oldest_pending", "Age of the oldest waiting event; 0: none waits.", metric.WithUnit("s"))
	followUps := gauge("herald_follow_ups_pending", "Waiting rows of delivery_follow_up, counted up to 100,000.")
	oldestFollowUp := gauge("herald_follow_ups_oldest_pending", "Age of the oldest waiting row of delivery_follow_up; 0: none waits.",
		metric.WithUnit("s"))
	resting := gauge("herald_source_topics_resting",
		"Topics of a source that take no records: they do not exist, Herald may not write them, or they have no leader.")
	providers := gauge("herald_provider_resting", "1: this worker does not ask the provider, because it fails or an operator has paused it.")
	calls, err := meter.Int64ObservableCounter("herald_provider_calls",
		metric.WithDescription("Calls of a provider by this worker, by outcome."))
	failed = append(failed, err)
	depth := gauge("herald_queue_depth", "Messages in a queue that wait for a consumer.")
	draining := gauge("herald_draining_workflows",
		"Open workflows whose last task ran on a worker of an old generation, which gets no more tasks.")
	lost := gauge("herald_pollers_lost", "Outbox pollers that operators want to run, and that Temporal does not know.")
	ambiguous := gauge("herald_ambiguous_rows",
		"Open events and deliveries whose workflow completed, by the last sweep: Postgres has lost their end.")
	_, err = meter.RegisterCallback(func(ctx context.Context, observer metric.Observer) error {
		observer.ObserveFloat64(brokerUp, number(w.broker() == nil))
		if depths, err := within(ctx, w.queues); err == nil {
			for queue, messages := range depths {
				observer.ObserveFloat64(depth, float64(messages), metric.WithAttributes(attribute.String(queueLabel, queue)))
			}
		}
		if w.topics != nil {
			_, err := within(ctx, func(ctx context.Context) (any, error) { return nil, w.topics(ctx) })
			observer.ObserveFloat64(kafkaUp, number(err == nil))
		}
		if waiting, err := within(ctx, w.followUps); err == nil {
			observer.ObserveFloat64(followUps, float64(waiting.Pending))
			observer.ObserveFloat64(oldestFollowUp, waiting.OldestPending.Seconds())
		}
		if open, err := within(ctx, w.draining); err == nil {
			observer.ObserveFloat64(draining, float64(open))
		}
		if pollers, err := within(ctx, w.lost); err == nil {
			observer.ObserveFloat64(lost, float64(pollers))
		}
		if last, err := within(ctx, w.sweep); err == nil {
			observer.ObserveFloat64(ambiguous, float64(last.Ambiguous))
		}
		w.observeProviders(observer, providers, calls)
		for name, source := range w.sources {
			outbox, err := within(ctx, source.state)
			if name == notification.HeraldSource {
				observer.ObserveFloat64(databaseUp, number(err == nil))
			}
			if err != nil {
				continue
			}
			label := labelOf(name)
			observer.ObserveFloat64(pending, float64(outbox.Pending), label)
			observer.ObserveFloat64(rejected, float64(outbox.Failed), label)
			observer.ObserveFloat64(oldest, outbox.OldestPending.Seconds(), label)
			observer.ObserveFloat64(resting, float64(outbox.Resting), label)
		}
		return nil
	}, append(observed, calls)...)
	return errors.Join(append(failed, err)...)
}

// within calls read with a time limit. If read fails, the scrape lacks only its metrics.
func within[T any](ctx context.Context, read func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	return read(ctx)
}

// labelOf returns the label of a source's metrics. The label of Herald's own outbox is empty,
// because alerts that are older than sources select its metrics without a label.
func labelOf(source string) metric.MeasurementOption {
	if source == notification.HeraldSource {
		return metric.WithAttributes()
	}
	return metric.WithAttributes(attribute.String(activities.SourceLabel, source))
}

// observeProviders reports which providers rest, and how often this worker has called each.
func (w watched) observeProviders(observer metric.Observer, resting metric.Float64Observable, calls metric.Int64Observable) {
	for name, sender := range w.senders {
		over, ok := sender.(interface {
			OpenCircuits() map[string]bool
			Calls() map[string]map[notification.AttemptOutcome]int64
		})
		if !ok {
			continue
		}
		of := func(provider string) metric.MeasurementOption {
			return metric.WithAttributes(attribute.String(activities.ChannelLabel, string(name)),
				attribute.String(activities.ProviderLabel, provider))
		}
		for provider, rests := range over.OpenCircuits() {
			observer.ObserveFloat64(resting, number(rests), of(provider))
		}
		for provider, byOutcome := range over.Calls() {
			for outcome, count := range byOutcome {
				observer.ObserveInt64(calls, count, of(provider), metric.WithAttributes(attribute.String(activities.OutcomeLabel, string(outcome))))
			}
		}
	}
}

func number(ok bool) float64 {
	if ok {
		return 1
	}
	return 0
}
