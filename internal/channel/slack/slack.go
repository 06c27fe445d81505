// Package slack sends notifications to Slack's incoming webhooks.
package slack

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"herald/internal/channel"
	"herald/internal/notification"
)

const provider = "slack"

// Sender posts to webhooks. It is safe for concurrent use.
type Sender struct {
	rules   channel.WebhookRules
	timeout time.Duration
	wire    http.RoundTripper
}

// Send posts msg to its webhook, once, within the sender's time-out. Every error is a
// [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if code := s.rules.Flaw(msg.To); code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	payload, ok := compose(msg)
	if !ok {
		return notification.Answer{}, channel.Refuse(provider, "message too long")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	exchange := channel.NewExchange(s.wire)
	post(ctx, exchange, msg.To, payload)

	answer := notification.Answer{Status: exchange.Status, Took: exchange.Took}
	if failure := exchange.Failure(ctx, provider); failure != nil {
		refine(failure, exchange.Body)
		return answer, failure
	}
	if string(bytes.TrimSpace(exchange.Body)) != "ok" {
		return answer, exchange.Unexpected(provider)
	}
	return answer, nil
}

// post makes the exchange, which holds the result. It drops net/http's errors, which quote the
// URL.
func post(ctx context.Context, exchange *channel.Exchange, webhook string, payload []byte) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, webhook, bytes.NewReader(payload))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	if response, err := exchange.Client().Do(request); err == nil {
		_ = response.Body.Close() // the body is in memory
	}
}
