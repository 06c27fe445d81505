// Package channel is what the senders have in common: what a sender is, and for
// those that speak HTTP, how a provider is reached, how one exchange with it is
// bounded and what its answer means. What is particular to one provider stands in
// that provider's package, its settings too.
package channel

import (
	"context"
	"time"

	"herald/internal/notification"
)

// Sender hands one message to one provider, once. Every error is a
// [notification.ProviderError].
type Sender interface {
	Send(ctx context.Context, msg notification.Message) (notification.Receipt, error)
}

// Process is what a sender gets from the process that it runs in.
type Process struct {
	Timeout   time.Duration // of one Send
	Slots     int           // Sends at a time
	PublicURL string        // where providers reach the gateway; empty: nowhere
	Broker    Publisher
}

// Publisher puts a transient message into the queue of an audience's gateways, and
// refuses an audience that it does not know. The delivery id becomes the message id.
type Publisher interface {
	PublishWebSocket(ctx context.Context, audience, deliveryID string, body []byte) error
}

// OffError says that a channel has no sender, because a setting is empty.
type OffError struct {
	Setting string
}

func (e *OffError) Error() string { return e.Setting + " is not set" }
