package main

import (
	"errors"
	"fmt"
	"log/slog"

	"herald/activities"
	"herald/internal/channel"
	"herald/internal/config"
	"herald/internal/config/secret"
	"herald/internal/limit"
	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/internal/tracing"
	"herald/internal/web/link"
	"herald/internal/wiring"
	"herald/workflows"
)

// slots is the maximum number of concurrent sends of one channel in a worker. Batches, and first
// attempts in local activities, do not count.
const slots = 64

// connections is the number of connections that a worker keeps to a channel's provider: one for
// each concurrent message.
const connections = slots + activities.FirstAttempts + activities.BatchSends

// newSenders returns a sender for each channel that is on. For each other channel it returns the
// reason why it is off; deliveries over it fail with this reason.
func newSenders(
	wired wiring.Wiring, cfg config.Config, broker *rabbitmq.Broker, circuits *limit.Circuits, tokens limit.Tokens,
	channels []notification.Channel,
) (senders map[notification.Channel]activities.Sender, why map[notification.Channel]error, err error) {
	senders, why = map[notification.Channel]activities.Sender{}, map[notification.Channel]error{}
	for _, name := range channels {
		process := channel.Process{
			Timeout: cfg.Policies[name].Timeout, Slots: connections, PublicURL: cfg.PublicURL, UnsubscribeURL: unsubscribeURL(cfg, name),
			Broker: broker,
		}
		var limits wiring.Limits
		if name.LimitsEach() {
			limits.Rate, limits.Tokens = cfg.Policies[name].RateLimit, tokens
		}
		if !name.BestEffort() { // a best-effort delivery has one attempt, and never waits
			limits.Circuits = circuits
		}
		sender, err := wired[name].NewSender(process, limits)
		var off *channel.OffError
		switch {
		case errors.As(err, &off):
			why[name] = err
			slog.Warn("channel is off: its deliveries will fail", "channel", name, "reason", err.Error())
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		default:
			senders[name] = sender
			if over, ok := sender.(*limit.Failover); ok {
				circuits.Use(name, over)
			}
		}
	}
	return senders, why, nil
}

// traced returns senders whose calls have spans.
func traced(senders map[notification.Channel]activities.Sender, traces *tracing.Traces) map[notification.Channel]activities.Sender {
	wrapped := map[notification.Channel]activities.Sender{}
	for channel, sender := range senders {
		wrapped[channel] = tracing.Sender{Sender: sender, Channel: channel, Traces: traces}
	}
	return wrapped
}

// unsubscribeURL returns a function that makes a message's unsubscribe link; nil: PUBLIC_URL is not
// set, so people cannot reach a gateway.
func unsubscribeURL(cfg config.Config, over notification.Channel) func(notification.Message) string {
	if cfg.PublicURL == "" {
		return nil
	}
	return links(cfg).Unsubscribe(over)
}

// links makes the links in messages.
func links(cfg config.Config) link.Links {
	return link.Links{PublicURL: cfg.PublicURL, Key: secret.Key(cfg.Secret, secret.Unsubscribe)}
}

// deliveryPolicies returns the channels' settings in the form that workflow histories store.
func deliveryPolicies(cfg config.Config) map[notification.Channel]activities.DeliveryPolicy {
	policies := map[notification.Channel]activities.DeliveryPolicy{}
	for channel, policy := range cfg.Policies {
		policies[channel] = activities.DeliveryPolicy{
			TaskQueue: workflows.ChannelQueue(cfg.TaskQueuePrefix, channel),
			Local:     limitOf(channel, policy) == 0,
			AttemptPolicy: activities.AttemptPolicy{
				MaxAttempts: policy.MaxAttempts, FirstRetry: policy.RetryInterval, Coefficient: policy.RetryCoefficient, Outage: policy.Outage,
				Timeout: policy.Timeout,
			},
		}
	}
	return policies
}

// limitOf returns a channel's limit of messages a second; 0: none, or each destination has its own.
func limitOf(channel notification.Channel, policy config.Policy) float64 {
	if channel.LimitsEach() {
		return 0
	}
	return policy.RateLimit
}

// rateLimits returns each channel's limit of messages a second.
func rateLimits(cfg config.Config) map[notification.Channel]float64 {
	limits := map[notification.Channel]float64{}
	for channel, policy := range cfg.Policies {
		limits[channel] = limitOf(channel, policy)
	}
	return limits
}
