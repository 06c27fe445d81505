// Package channel is what all senders share: the interface, and for those that
// speak HTTP, how to reach a provider, how to bound one exchange with it, and what
// its answer means. Everything that concerns one provider alone is in that
// provider's package, its settings too.
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

// OffError says that a channel is off, because a setting is empty.
type OffError struct {
	Setting string
}

func (e *OffError) Error() string { return e.Setting + " is not set" }
