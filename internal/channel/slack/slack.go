// Package slack sends notifications to Slack's incoming webhooks.
package slack

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strings"
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
	msg, code := s.rules.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	payload, ok := compose(msg)
	if !ok {
		return notification.Answer{}, channel.Refuse(provider, "message too long")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	exchange := channel.NewExchange(s.wire)
	_ = exchange.Post(ctx, msg.To, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, payload) // the exchange holds the answer
	answer := exchange.Answer()
	if failure := exchange.Failure(ctx, provider); failure != nil {
		refine(failure, exchange.Body)
		return answer, failure
	}
	if string(bytes.TrimSpace(exchange.Body)) != "ok" {
		return answer, exchange.Unexpected(provider)
	}
	return answer, nil
}

// Destination returns the webhook: Slack limits each.
func (s *Sender) Destination(msg notification.Message) string {
	ready, _ := s.rules.Ready(msg)
	return ready.To
}

// codes are Slack's codes. Errors show no other text of an answer.
// https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors
var codes = []string{
	"action_prohibited", "channel_is_archived", "channel_not_found", "invalid_blocks", "invalid_payload",
	"invalid_token", "no_active_hooks", "no_service", "no_service_id", "no_team", "no_text",
	"posting_to_general_channel_denied", "rate_limited", "rollup_error", "team_disabled",
	"too_many_attachments", "user_not_found",
}

// refine adds Slack's code to failure. A 403 from Slack is about the webhook, because we have no
// account there. A 429 is about the webhook, too: other webhooks have separate limits.
func refine(failure *notification.ProviderError, body []byte) {
	failure.Theirs = failure.Status == http.StatusTooManyRequests
	if failure.Status == http.StatusForbidden {
		failure.Class = notification.Refused
	}
	if code := strings.TrimSpace(string(body)); failure.Status >= 300 && slices.Contains(codes, code) {
		failure.Code = code
	}
}
