package main

import (
	"errors"
	"fmt"
	"log/slog"

	"herald/activities"
	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/channel/push"
	"herald/internal/channel/slack"
	"herald/internal/channel/sms"
	"herald/internal/channel/websocket"
	"herald/internal/config"
	"herald/internal/environment"
	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/workflows"
)

// wiring is how each channel sends: the settings of its package, which read
// themselves and make its sender.
type wiring map[notification.Channel]interface {
	Read(r *environment.Reader)
	NewSender(p channel.Process) (channel.Sender, error)
}

// newWiring has one line for each channel.
func newWiring() wiring {
	return wiring{
		notification.WebSocket: &websocket.Settings{},
		notification.Email:     &email.Settings{},
		notification.Push:      &push.Settings{},
		notification.SMS:       &sms.Settings{},
		notification.Slack:     &slack.Settings{},
	}
}

// check finds a channel that nothing could send over, which no other is to do for it.
func (w wiring) check() error {
	for _, channel := range notification.Channels() {
		if w[channel] == nil {
			return fmt.Errorf("channel %s is in notification's table, but newWiring has no line for it", channel)
		}
	}
	return nil
}

// read reads the settings of all channels, in the order in which channels are shown.
func (w wiring) read(r *environment.Reader) {
	for _, channel := range notification.Channels() {
		w[channel].Read(r)
	}
}

// slots is how many sends of one channel a worker has under way at most, and
// how many connections to its provider it keeps.
const slots = 64

// senders returns one for each of the channels that is not off, and why others are. The
// deliveries of one that is off fail, and say so.
func (w wiring) senders(cfg config.Config, broker *rabbitmq.Broker, channels []notification.Channel) (senders map[notification.Channel]activities.Sender, why map[notification.Channel]error, err error) {
	senders, why = map[notification.Channel]activities.Sender{}, map[notification.Channel]error{}
	for _, name := range channels {
		sender, err := w[name].NewSender(channel.Process{
			Timeout: cfg.Policies[name].Timeout, Slots: slots, PublicURL: cfg.PublicURL, Broker: broker,
		})
		var off *channel.OffError
		switch {
		case errors.As(err, &off):
			why[name] = off
			slog.Warn("channel is off: its deliveries will fail", "channel", name, "reason", off.Error())
		case err != nil:
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		default:
			senders[name] = sender
		}
	}
	return senders, why, nil
}

// deliveryPolicies are the channels' settings as the histories hold them.
func deliveryPolicies(cfg config.Config) map[notification.Channel]activities.DeliveryPolicy {
	policies := map[notification.Channel]activities.DeliveryPolicy{}
	for channel, policy := range cfg.Policies {
		policies[channel] = activities.DeliveryPolicy{
			TaskQueue: workflows.ChannelQueue(cfg.TaskQueuePrefix, channel),
			AttemptPolicy: activities.AttemptPolicy{
				MaxAttempts: policy.MaxAttempts, FirstRetry: policy.RetryInterval, Coefficient: policy.RetryCoefficient, Timeout: policy.Timeout,
			},
		}
	}
	return policies
}
