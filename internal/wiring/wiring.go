// Package wiring maps each channel to the package that sends over it. The worker makes its senders
// from this map, and starter checks the configuration with it.
package wiring

import (
	"fmt"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/channel/push"
	"herald/internal/channel/slack"
	"herald/internal/channel/sms"
	"herald/internal/channel/websocket"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Wiring maps each channel to the settings of its package.
type Wiring map[notification.Channel]Settings

// Settings is the settings of a channel's package. It makes the channel's sender.
type Settings interface {
	Read(r *environment.Reader)
	NewSender(p channel.Process) (channel.Sender, error)
	// Servers returns the URLs of the channel's providers.
	Servers() []string
}

// New returns empty settings for each channel. Add a line here for a new channel.
func New() Wiring {
	return Wiring{
		notification.WebSocket: &websocket.Settings{},
		notification.Email:     &email.Settings{},
		notification.Push:      &push.Settings{},
		notification.SMS:       &sms.Settings{},
		notification.Slack:     &slack.Settings{},
	}
}

// Complete returns an error if a channel of package notification has no settings in w.
func (w Wiring) Complete() error {
	for _, channel := range notification.Channels() {
		if w[channel] == nil {
			return fmt.Errorf("channel %s is in notification's table, but wiring.New has no line for it", channel)
		}
	}
	return nil
}

// Read reads the settings of all channels, in the order of notification.Channels.
func (w Wiring) Read(r *environment.Reader) {
	for _, channel := range notification.Channels() {
		w[channel].Read(r)
	}
}
