// Package channel holds the Sender interface and the common parts of HTTP senders: the connection
// to a provider, the limits of one exchange, and the meaning of its answer. Each provider's
// package holds its other parts and its settings.
package channel

import (
	"context"
	"strings"
	"time"

	"herald/internal/notification"
)

// Sender passes one message to one provider, once. Every error is a [notification.ProviderError].
type Sender interface {
	Send(ctx context.Context, msg notification.Message) (notification.Answer, error)
}

// Process holds the data that a process gives its senders.
type Process struct {
	Timeout   time.Duration // of one Send
	Slots     int           // maximum number of concurrent Sends
	PublicURL string        // the gateway's address for providers; empty: none
	// UnsubscribeURL returns the link that lets a recipient switch off such messages. Nil: no
	// gateway is reachable for people.
	UnsubscribeURL func(notification.Message) string
	Broker         Publisher
}

// Publisher puts a transient message into the queue of an audience's gateways. It refuses an
// invalid audience. The delivery id becomes the message id.
type Publisher interface {
	PublishWebSocket(ctx context.Context, audience, deliveryID string, body []byte) error
}

// OffError means that a channel is off because required settings are empty.
type OffError struct {
	Missing []string // the empty settings
	Instead []string // settings of other providers, any of which would switch the channel on
}

func (e *OffError) Error() string {
	text := strings.Join(e.Missing, ", ") + " are not set"
	if len(e.Missing) == 1 {
		text = e.Missing[0] + " is not set"
	}
	for _, setting := range e.Instead {
		text += ", nor is " + setting
	}
	return text
}

// Or returns the error of a channel that has neither of two providers. e may be nil.
func (e *OffError) Or(other *OffError) *OffError {
	if e == nil {
		return other
	}
	return &OffError{Missing: e.Missing, Instead: append(e.Instead, other.Missing[0])}
}

// Off returns the error of a channel that needs these settings: pairs of name and value, in
// display order.
func Off(settings ...[2]string) *OffError {
	off := &OffError{}
	for _, setting := range settings {
		if name, value := setting[0], setting[1]; value == "" {
			off.Missing = append(off.Missing, name)
		}
	}
	return off
}
