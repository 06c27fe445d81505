// Package wiring names the package that sends over each channel. The worker makes its
// senders from it, and the check asks it what is configured.
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

// Wiring is how each channel sends: the settings of its package.
type Wiring map[notification.Channel]Settings

// Settings read themselves, and make the channel's sender.
type Settings interface {
	Read(r *environment.Reader)
	NewSender(p channel.Process) (channel.Sender, error)
	// Servers are the URLs of the providers that the channel sends to.
	Servers() []string
}

// New has one line for each channel.
func New() Wiring {
	return Wiring{
		notification.WebSocket: &websocket.Settings{},
		notification.Email:     &email.Settings{},
		notification.Push:      &push.Settings{},
		notification.SMS:       &sms.Settings{},
		notification.Slack:     &slack.Settings{},
	}
}

// Complete finds a channel that nothing could send over, which no other is to do for it.
func (w Wiring) Complete() error {
	for _, channel := range notification.Channels() {
		if w[channel] == nil {
			return fmt.Errorf("channel %s is in notification's table, but wiring.New has no line for it", channel)
		}
	}
	return nil
}

// Read reads the settings of all channels, in the order in which channels are shown.
func (w Wiring) Read(r *environment.Reader) {
	for _, channel := range notification.Channels() {
		w[channel].Read(r)
	}
}
