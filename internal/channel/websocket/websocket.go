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

// frame is what a gateway pushes to the browser.
type frame struct {
	Type           string                `json:"type"` // notification
	DeliveryID     string                `json:"delivery_id"`
	NotificationID int64                 `json:"notification_id"`
	EventID        string                `json:"event_id"`
	EventType      string                `json:"event_type"`
	CorrelationID  string                `json:"correlation_id,omitempty"`
	UserType       notification.UserType `json:"user_type"`
	UserID         string                `json:"user_id"`
	Title          string                `json:"title"`
	Body           string                `json:"body"`
	CreatedAt      time.Time             `json:"created_at"` // UTC, to the second
}

// Send returns when the broker has confirmed the message. The message arrives
// later, when a gateway hands it to a socket. The receipt has no id, since
// the broker gives none. Errors are the publisher's.
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Receipt, error) {
	body, err := json.Marshal(frame{
		Type:           "notification",
		DeliveryID:     msg.DeliveryID,
		NotificationID: msg.NotificationID,
		EventID:        msg.EventID,
		EventType:      msg.EventType,
		CorrelationID:  msg.CorrelationID,
		UserType:       msg.UserType,
		UserID:         msg.UserID,
		Title:          msg.Title,
		Body:           msg.Body,
		CreatedAt:      msg.CreatedAt.UTC().Truncate(time.Second),
	})
	if err != nil {
		failure := &notification.ProviderError{Provider: "rabbitmq", Class: notification.Refused, Code: "message is not JSON"}
		return notification.Receipt{}, failure
	}
	began := time.Now()
	err = s.publisher.PublishWebSocket(ctx, msg.Audience, msg.DeliveryID, body)
	return notification.Receipt{Took: time.Since(began)}, err
}
