package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"golang.org/x/time/rate"

	"herald/internal/health"
	"herald/internal/web/signin"
)

// causeLabel is the label with the cause of a refusal.
const causeLabel = "cause"

// refusedInterval is the minimum time between two log lines about refusals for the same cause.
// The metric counts all refusals.
const refusedInterval = time.Minute

// metrics holds the metrics of the process.
type metrics struct {
	meter    metric.Meter
	page     http.Handler // all metrics, in Prometheus's format
	refusals metric.Int64Counter
	said     map[string]*rate.Sometimes // limits the log lines, by cause
}

// newMetrics sets up the metrics of this process, without global variables.
func newMetrics() (*metrics, error) {
	registry := health.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("set up metrics: %w", err)
	}
	m := &metrics{
		meter: sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("herald"),
		page:  health.MetricsPage(registry),
		said:  map[string]*rate.Sometimes{},
	}
	m.refusals, err = m.meter.Int64Counter("herald_gateway_refusals",
		metric.WithDescription("Refused requests, by cause: the sign-in, the origin, the host name or the client's address."))
	if err != nil {
		return nil, fmt.Errorf("set up metrics: %w", err)
	}
	causes := []string{otherOrigin, otherHost, oneAddress}
	for _, reason := range signin.Reasons() {
		causes = append(causes, string(reason))
	}
	for _, cause := range causes {
		m.said[cause] = &rate.Sometimes{Interval: refusedInterval}
		m.count(cause, 0)
	}
	return m, nil
}

// watchBroker adds a gauge: 1 if messages come from the broker, otherwise 0.
func (m *metrics) watchBroker(ready func() error) error {
	_, err := m.meter.Int64ObservableGauge("herald_broker_up", metric.WithDescription("1: messages come from the broker."),
		metric.WithInt64Callback(func(_ context.Context, observer metric.Int64Observer) error {
			up := int64(0)
			if ready() == nil {
				up = 1
			}
			observer.Observe(up)
			return nil
		}))
	return err
}

// refuse counts a refusal, and logs at most one refusal per minute and cause.
func (m *metrics) refuse(cause string) {
	m.count(cause, 1)
	m.said[cause].Do(func() { slog.Info("requests are refused: see herald_gateway_refusals_total", "cause", cause) })
}

func (m *metrics) count(cause string, n int64) {
	m.refusals.Add(context.Background(), n, metric.WithAttributes(attribute.String(causeLabel, cause)))
}
