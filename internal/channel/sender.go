// Package channel is what all senders share: the interface, and for those that
// speak HTTP, how to reach a provider, how to bound one exchange with it, and what
// its answer means. Everything that concerns one provider alone is in that
// provider's package, its settings too.
package channel

import (
	"context"
	"strings"
	"time"

	"herald/internal/notification"
)

// Sender hands one message to one provider, once. Every error is a
// [notification.ProviderError].
type Sender interface {
	Send(ctx context.Context, msg notification.Message) (notification.Answer, error)
}

// Process is what a sender gets from the process that it runs in.
type Process struct {
	Timeout   time.Duration // of one Send
	Slots     int           // Sends at a time
	PublicURL string        // where providers reach the gateway; empty: nowhere
	// UnsubscribeURL is the link by which the recipient of a message switches its like off.
	// Nil: there is no gateway that people reach.
	UnsubscribeURL func(notification.Message) string
	Broker         Publisher
}

// Publisher puts a transient message into the queue of an audience's gateways, and
// refuses a word that is no audience. The delivery id becomes the message id.
type Publisher interface {
	PublishWebSocket(ctx context.Context, audience, deliveryID string, body []byte) error
}

// OffError says that a channel is off, because settings are empty.
type OffError struct {
	Missing []string // the settings that it needs, and that are empty
}

func (e *OffError) Error() string {
	if len(e.Missing) == 1 {
		return e.Missing[0] + " is not set"
	}
	return strings.Join(e.Missing, ", ") + " are not set"
}

// Off returns the error of a channel which needs these settings: the name of each and
// its value, in the order in which they are shown.
func Off(settings ...[2]string) *OffError {
	off := &OffError{}
	for _, setting := range settings {
		if name, value := setting[0], setting[1]; value == "" {
			off.Missing = append(off.Missing, name)
		}
	}
	return off
}
