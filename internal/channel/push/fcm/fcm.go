// Package fcm sends notifications to a recipient's devices through Firebase Cloud Messaging.
package fcm

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	provider      = "fcm"
	devicesAtOnce = 8 // per message, so that one person does not use all connections
)

// Sender sends push messages. It is safe for concurrent use.
type Sender struct {
	project  string
	endpoint string
	tokens   *tokens
	timeout  time.Duration
	wire     http.RoundTripper
}

// Send passes msg to each of its devices, once, all within the sender's time-out. It succeeds if
// one device accepted the message. The answer names the dead devices, even with an error. Every
// error is a [notification.ProviderError]: the device failure for which a retry is most likely to
// succeed.
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	switch {
	case len(msg.Devices) == 0:
		return notification.Answer{}, channel.Refuse(provider, codeNoDevice)
	case size(msg) > messageLimit:
		return notification.Answer{}, channel.Refuse(provider, "message too big")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	token, failure := s.tokens.get(ctx)
	if failure != nil {
		return notification.Answer{}, failure
	}
	answers := make([]deviceAnswer, len(msg.Devices))
	var group errgroup.Group
	group.SetLimit(devicesAtOnce)
	for i, device := range msg.Devices {
		group.Go(func() error {
			answers[i] = s.sendTo(ctx, token, compose(msg, device))
			return nil
		})
	}
	_ = group.Wait() // no error: each device has its answer
	return summarize(msg.Devices, answers)
}
