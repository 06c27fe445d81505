// Package webpush sends notifications to browsers, through the push service of each browser: RFC
// 8030, 8291 and 8292.
package webpush

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	sdk "github.com/SherClockHolmes/webpush-go"

	"herald/internal/channel"
	"herald/internal/channel/push"
	"herald/internal/notification"
)

const (
	provider      = "webpush"
	maxTimeToLive = 28 * 24 * time.Hour // the longest that push services keep a message
)

// hostNotAllowed names the setting that blocks a message. It does not name the host, because a client
// chose that text.
const hostNotAllowed = "the browser's push service is not in WEBPUSH_ALLOWED_HOSTS"

// Sender sends to browsers. It is safe for concurrent use.
type Sender struct {
	settings  Settings
	publicKey string
	timeout   time.Duration
	wire      http.RoundTripper
}

// Send passes msg to each of its browsers, once, all within the sender's time-out. See
// [push.SendToEach].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	topic := push.CollapseID(msg)
	content := notification.WebPush{DeliveryID: msg.DeliveryID, Title: msg.Title, Body: msg.Body, Tag: topic, URL: msg.URL}
	if topic == "" {
		content.Tag = msg.DeliveryID // a repeat replaces the first message
	}
	text, err := json.Marshal(content)
	switch {
	case len(msg.Devices) == 0:
		return notification.Answer{}, channel.Refuse(provider, push.CodeNoDevice)
	case err != nil || len(text) > notification.MaxWebPush:
		return notification.Answer{}, channel.Refuse(provider, "message too big")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return push.SendToEach(provider, msg.Devices, func(device string) push.DeviceAnswer {
		return s.sendTo(ctx, device, text, s.options(msg, topic))
	})
}

var urgency = map[notification.Priority]sdk.Urgency{notification.High: sdk.UrgencyHigh, notification.Low: sdk.UrgencyLow}

func (s *Sender) options(msg notification.Message, topic string) sdk.Options {
	left, expires := msg.TimeLeft(maxTimeToLive)
	if !expires {
		left = maxTimeToLive
	}
	return sdk.Options{
		Subscriber:     strings.TrimPrefix(s.settings.Subject, "mailto:"), // the SDK adds it
		VAPIDPublicKey: s.publicKey, VAPIDPrivateKey: string(s.settings.PrivateKey),
		TTL: int(left.Seconds()), Topic: topic, Urgency: urgency[msg.Priority], // empty: normal
	}
}

// sendTo sends to one browser. The SDK encrypts the text. It returns errors with the subscription, so
// only the exchange counts.
func (s *Sender) sendTo(ctx context.Context, device string, text []byte, options sdk.Options) push.DeviceAnswer {
	subscription, err := notification.ParseSubscription(device)
	switch {
	case err != nil:
		return push.DeviceAnswer{Failure: channel.Refuse(provider, "invalid subscription"), Dead: true}
	case !s.allowed(subscription.Endpoint):
		return push.DeviceAnswer{Failure: channel.Refuse(provider, hostNotAllowed)}
	}
	exchange := channel.NewExchange(s.wire)
	options.HTTPClient = exchange.Client()
	browser := &sdk.Subscription{
		Endpoint: subscription.Endpoint, Keys: sdk.Keys{P256dh: subscription.Keys.P256dh, Auth: subscription.Keys.Auth},
	}
	if response, err := sdk.SendNotificationWithContext(ctx, slices.Clip(text), browser, &options); err == nil { // the SDK appends to the text
		_ = response.Body.Close() // the body is in memory
	}
	answer := push.DeviceAnswer{Status: exchange.Status, Took: exchange.Took, Failure: exchange.Failure(ctx, provider)}
	switch {
	case exchange.Status == http.StatusNotFound, exchange.Status == http.StatusGone:
		answer.Dead = true // the subscription has ended
	case exchange.Status == http.StatusForbidden && !blamesUs(exchange.Body):
		answer.Failure.Class, answer.Dead = notification.Refused, true // the subscription is for another key (RFC 8292, 4.2)
	case answer.Failure == nil && !exchange.IsPlain(http.StatusCreated):
		answer.Failure = exchange.Unexpected(provider)
	}
	return answer
}

// blamesUs reports whether a push service refuses our signature, for every subscription. Only Apple's
// service says so with a 403, and names the reason.
func blamesUs(body []byte) bool {
	var answer struct{ Reason string }
	return json.Unmarshal(body, &answer) == nil && (answer.Reason == "BadJwtToken" || answer.Reason == "ExpiredJwtToken")
}

// allowed reports whether a setting allows the endpoint's host. Clients choose the endpoints. Without
// this check they could make us post to any server that we can reach.
func (s *Sender) allowed(endpoint string) bool {
	u, err := url.Parse(endpoint)
	return err == nil && slices.ContainsFunc(s.settings.AllowedHosts, func(host string) bool {
		if suffix, ok := strings.CutPrefix(host, "*"); ok {
			return u.Port() == "" && strings.HasSuffix(strings.ToLower(u.Hostname()), suffix)
		}
		return strings.EqualFold(host, u.Host)
	})
}
