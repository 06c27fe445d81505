package main

import (
	"fmt"
	"log/slog"

	"herald/activities"
	"herald/internal/channel/email"
	"herald/internal/channel/push"
	"herald/internal/channel/slack"
	"herald/internal/channel/sms"
	"herald/internal/channel/websocket"
	"herald/internal/config"
	"herald/internal/notification"
	"herald/internal/rabbitmq"
	"herald/workflows"
)

// slots is how many sends of one channel a worker has under way at most, and
// how many connections to its provider it keeps.
const slots = 64

// newSenders returns a sender for each channel that is served here and has
// credentials. The deliveries of one that has none fail, and say so.
func newSenders(cfg config.Config, broker *rabbitmq.Broker, channels []notification.Channel) (map[notification.Channel]activities.Sender, error) {
	senders := map[notification.Channel]activities.Sender{}
	for _, channel := range channels {
		if why := cfg.Off(channel); why != "" {
			slog.Warn("channel is off: its deliveries will fail", "channel", channel, "reason", why)
			continue
		}
		sender, err := newSender(cfg, broker, channel)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", channel, err)
		}
		senders[channel] = sender
	}
	return senders, nil
}

func newSender(cfg config.Config, broker *rabbitmq.Broker, channel notification.Channel) (activities.Sender, error) {
	timeout := cfg.Policies[channel].Timeout
	switch channel {
	case notification.Email:
		return email.New(email.Config{
			APIKey: string(cfg.SendGridAPIKey), BaseURL: cfg.SendGridBaseURL, From: cfg.EmailFrom, FromName: cfg.EmailFromName,
			Timeout: timeout, Slots: slots,
		})
	case notification.Push:
		return push.New(push.Config{
			ProjectID: cfg.FCMProjectID, BaseURL: cfg.FCMBaseURL, CredentialsFile: cfg.GoogleCredentials,
			Timeout: timeout, Slots: slots,
		})
	case notification.SMS:
		return sms.New(sms.Config{
			AccountSID: cfg.TwilioAccountSID, AuthToken: string(cfg.TwilioAuthToken), From: cfg.TwilioFrom, BaseURL: cfg.TwilioBaseURL,
			PublicURL: cfg.PublicURL, Timeout: timeout, Slots: slots,
		})
	case notification.Slack:
		return slack.New(slack.Config{AllowedHosts: cfg.SlackAllowedHosts, Timeout: timeout, Slots: slots})
	default:
		return &websocket.Sender{Publisher: broker}, nil
	}
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
