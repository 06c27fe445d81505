// Package websocket reaches people who have a browser open: it hands their messages
// to the gateways, which hold the sockets.
package websocket

import (
	"context"
	"encoding/json"
	"time"

	"herald/internal/channel"
	"herald/internal/environment"
	"herald/internal/notification"
)

// Settings is empty: the sender uses the broker of the process.
type Settings struct{}

// Read reads nothing.
func (*Settings) Read(*environment.Reader) {}

// Servers is empty: the broker is not a provider.
func (*Settings) Servers() []string { return nil }

// NewSender returns the sender.
func (*Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{publisher: p.Broker}, nil
}

// Sender sends by publishing to the broker.
type Sender struct {
	publisher channel.Publisher
}

// Send returns when the broker has confirmed the message. The message arrives
// later, when a gateway hands it to a socket. The answer has no id, since
// the broker gives none. Errors are the publisher's.
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	body, err := json.Marshal(msg.Frame())
	if err != nil {
		failure := &notification.ProviderError{Provider: "rabbitmq", Class: notification.Refused, Code: "message is not JSON"}
		return notification.Answer{}, failure
	}
	began := time.Now()
	err = s.publisher.PublishWebSocket(ctx, msg.Audience, msg.DeliveryID, body)
	return notification.Answer{Took: time.Since(began)}, err
}
