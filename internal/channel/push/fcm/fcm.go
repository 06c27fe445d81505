// Package fcm sends notifications to a recipient's devices through Firebase Cloud Messaging.
package fcm

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/push"
	"herald/internal/notification"
)

const provider = "fcm"

// Sender sends push messages. It is safe for concurrent use.
type Sender struct {
	project  string
	endpoint string
	tokens   *tokens
	timeout  time.Duration
	wire     http.RoundTripper
	accepted atomic.Bool // FCM has accepted a message of our project
}

// Send passes msg to each of its devices, once, all within the sender's time-out. It succeeds if
// one device accepted the message. The answer names the dead devices, even with an error. Every
// error is a [notification.ProviderError]: the device failure for which a retry is most likely to
// succeed.
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	switch {
	case len(msg.Devices) == 0:
		return notification.Answer{}, channel.Refuse(provider, push.CodeNoDevice)
	case size(msg) > messageLimit:
		return notification.Answer{}, channel.Refuse(provider, "message too big")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	token, failure := s.tokens.get(ctx)
	if failure != nil {
		return notification.Answer{}, failure
	}
	return push.SendToEach(provider, msg.Devices, func(device string) push.DeviceAnswer {
		return s.sendTo(ctx, token, compose(msg, device))
	})
}
