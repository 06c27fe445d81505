// Package websocket reaches people with an open browser. It passes their messages to the
// gateways, which hold the sockets.
package websocket

import (
	"context"
	"encoding/json"
	"time"

	"herald/internal/channel"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Settings is empty, because the sender uses the process's broker.
type Settings struct{}

// Read reads nothing.
func (*Settings) Read(*environment.Reader) {}

// Servers returns nothing, because the broker is not a provider.
func (*Settings) Servers() []string { return nil }

// NewSender returns the sender.
func (*Settings) NewSender(p channel.Process) (channel.Sender, error) {
	return &Sender{publisher: p.Broker}, nil
}

// Sender publishes messages to the broker.
type Sender struct {
	publisher channel.Publisher
}

// Send returns when the broker has confirmed the message. The message arrives later, when a
// gateway passes it to a socket. The answer has no id, because the broker gives none. Errors come
// from the publisher.
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
