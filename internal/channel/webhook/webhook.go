// Package webhook posts notifications to recipients' servers, signed as Standard Webhooks says.
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	provider = "webhook"
	idLimit  = 128 // bytes
)

// Sender posts to webhooks. It is safe for concurrent use.
type Sender struct {
	rules   channel.WebhookRules
	keys    Keys
	timeout time.Duration
	wire    http.RoundTripper
}

// Send posts msg to its webhook, once, within the sender's time-out. The body is a
// [notification.Frame]. Every error is a [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := s.rules.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	body, err := json.Marshal(msg.Frame())
	if err != nil || len(body) > notification.MaxWebhook {
		return notification.Answer{}, channel.Refuse(provider, "message too long")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	exchange := channel.NewExchange(s.wire)
	err = exchange.Post(ctx, msg.To, s.keys.Header(ID(msg.DeliveryID), body), body)
	answer, failure := exchange.Answer(), exchange.Failure(ctx, provider)
	switch {
	case failure == nil:
		return answer, nil
	case errors.Is(err, errPrivate):
		return notification.Answer{}, channel.Refuse(provider, "the recipient's webhook has an address that is not public")
	default:
		refine(failure)
		return answer, failure
	}
}

// Destination returns the server of the webhook, which limits all of its webhooks together.
func (s *Sender) Destination(msg notification.Message) string {
	ready, _ := s.rules.Ready(msg)
	u, err := url.Parse(ready.To)
	if err != nil {
		return ready.To
	}
	return u.Host
}

// plain matches an id that is allowed in a header. It has no dot, because dots separate the signed parts.
var plain = regexp.MustCompile(`^[A-Za-z0-9_~:@-]+$`)

// ID returns the webhook-id of a delivery. It is the same in each attempt.
func ID(deliveryID string) string {
	if !plain.MatchString(deliveryID) {
		return channel.FitID(deliveryID, 0)
	}
	return channel.FitID(deliveryID, idLimit)
}

// refine adapts a failure, because the server belongs to the recipient. We have no account there. Its
// failures say nothing about other servers. A redirect leads to a URL that nobody has entered. After 410,
// the server wants no more messages.
func refine(failure *notification.ProviderError) {
	failure.Theirs = true
	switch status := failure.Status; {
	case status == http.StatusGone:
		failure.Suppress = notification.SuppressedInvalid
	case failure.Class == notification.Account, status >= 300 && status < 400:
		failure.Class = notification.Refused
	}
}
