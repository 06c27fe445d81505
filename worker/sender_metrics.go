package main

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"herald/activities"
)

// registerSenders adds the gauges of this worker's senders of messages, such as EMAIL_FROM. They also have a
// value for each provider that the sender had before: a pause there holds its messages, too.
func (w watched) registerSenders(meter metric.Meter) error {
	paused, err := meter.Float64ObservableGauge("herald_sender_paused",
		metric.WithDescription("1: the optional messages of the provider's sender wait, because of complaints, bounces or blocks."))
	limit, limitErr := meter.Float64ObservableGauge("herald_sender_limit", metric.WithUnit("1"),
		metric.WithDescription("The part of the limit of complaints, bounces or blocks that the provider's sender has reached."))
	_, registerErr := meter.RegisterCallback(func(_ context.Context, observer metric.Observer) error {
		for _, sender := range slices.Backward(w.circuits.Senders()) { // a paused sender comes last, and counts
			of := metric.WithAttributes(attribute.String(activities.ChannelLabel, string(sender.Channel)),
				attribute.String(activities.ProviderLabel, sender.Provider))
			_, share := sender.Worst()
			observer.ObserveFloat64(paused, number(sender.PausedAt != nil), of)
			observer.ObserveFloat64(limit, share, of)
		}
		return nil
	}, paused, limit)
	return errors.Join(err, limitErr, registerErr)
}
