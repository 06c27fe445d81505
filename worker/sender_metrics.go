package main

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"herald/activities"
	"herald/internal/notification"
)

// registerSenders adds the gauges of the senders of messages, such as EMAIL_FROM.
func (w watched) registerSenders(meter metric.Meter) error {
	paused, err := meter.Float64ObservableGauge("herald_sender_paused",
		metric.WithDescription("1: the optional messages of the provider's sender wait, because of complaints, bounces or blocks."))
	limit, limitErr := meter.Float64ObservableGauge("herald_sender_limit", metric.WithUnit("1"),
		metric.WithDescription("The part of the limit of complaints, bounces or blocks that the provider's sender has reached."))
	_, registerErr := meter.RegisterCallback(func(_ context.Context, observer metric.Observer) error {
		for name, sender := range w.senders {
			over, ok := sender.(interface {
				Senders() map[string]notification.SenderState
			})
			if !ok {
				continue
			}
			for provider, state := range over.Senders() {
				of := metric.WithAttributes(attribute.String(activities.ChannelLabel, string(name)),
					attribute.String(activities.ProviderLabel, provider))
				_, share := state.Worst()
				observer.ObserveFloat64(paused, number(state.PausedAt != nil), of)
				observer.ObserveFloat64(limit, share, of)
			}
		}
		return nil
	}, paused, limit)
	return errors.Join(err, limitErr, registerErr)
}
