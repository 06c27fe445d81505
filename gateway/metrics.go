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

// causeLabel says why a request was refused.
const causeLabel = "cause"

// refusedInterval is the least time between two lines in the log about refusals for the
// same cause. The metric counts them all.
const refusedInterval = time.Minute

// metrics holds the measurements of the process.
type metrics struct {
	meter    metric.Meter
	page     http.Handler // all of them, as Prometheus reads them
	refusals metric.Int64Counter
	said     map[string]*rate.Sometimes // by cause: when a refusal is logged
}

// newMetrics sets up metrics of this process alone: nothing is global.
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
	m.refusals, err = m.meter.Int64Counter("herald_gateway_refusals", metric.WithDescription("Requests that were refused, since nobody was signed in, or for where they came from."))
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

// watchBroker shows whether messages come from the broker.
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

// refuse counts a refusal, and logs one a minute for each cause.
func (m *metrics) refuse(cause string) {
	m.count(cause, 1)
	m.said[cause].Do(func() { slog.Info("requests are refused; herald_gateway_refusals_total counts them", "cause", cause) })
}

func (m *metrics) count(cause string, n int64) {
	m.refusals.Add(context.Background(), n, metric.WithAttributes(attribute.String(causeLabel, cause)))
}
