// Package vonage sends text messages through Vonage's SMS API, which has one request. Vonage no
// longer maintains its SDK for Go.
package vonage

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/notification"
)

const (
	provider       = "vonage"
	referenceLimit = 100 // Vonage's limit for client-ref and callback, in characters
	callbackPath   = "/webhooks/vonage"
	minTimeToLive  = 20 * time.Second   // Vonage's limits for ttl
	maxTimeToLive  = 7 * 24 * time.Hour // the default is 3 days
)

// Sender sends text messages. It is safe for concurrent use.
type Sender struct {
	settings  Settings
	publicURL string // gateway address for receipts; empty: the address in the account's settings
	timeout   time.Duration
	wire      http.RoundTripper
}

// answer is Vonage's answer, with one element for each part of a long message.
// https://developer.vonage.com/en/api/sms
type answer struct {
	Messages []struct {
		ID     string `json:"message-id"`
		Status string `json:"status"`
	} `json:"messages"`
}

// From returns our number or name, as recipients see it.
func (s *Sender) From() string { return s.settings.From }

// Send passes the body of msg to Vonage, once, within the sender's time-out. It drops the title,
// because text messages have none. Every error is a [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := sms.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	login := base64.StdEncoding.EncodeToString([]byte(s.settings.Key + ":" + string(s.settings.Secret)))
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Authorization": {"Basic " + login}}
	exchange := channel.NewExchange(s.wire)
	// the exchange holds the answer, and errors without secrets
	_ = exchange.Post(ctx, s.settings.BaseURL+"/sms/json", header, []byte(s.form(msg).Encode()))
	result := exchange.Answer()
	if failure := exchange.Failure(ctx, provider); failure != nil {
		return result, failure
	}
	var read answer
	if json.Unmarshal(exchange.Body, &read) != nil || len(read.Messages) == 0 {
		return result, exchange.Unexpected(provider)
	}
	refused := 0
	for _, part := range read.Messages {
		if part.Status != accepted {
			refused++
		}
	}
	switch first := read.Messages[0]; {
	case refused == 0 && first.ID != "":
		result.ProviderID, result.Segments = channel.ProviderID(first.ID), sms.Segments(msg.Body)
		return result, nil
	case refused < len(read.Messages): // parts of the message are on their way
		return result, exchange.Unexpected(provider)
	default:
		return result, refusal(exchange, first.Status)
	}
}

func (s *Sender) form(msg notification.Message) url.Values {
	form := url.Values{
		"from":       {strings.TrimPrefix(s.settings.From, "+")},
		"to":         {strings.TrimPrefix(msg.To, "+")},
		"text":       {msg.Body},
		"type":       {"text"},
		"client-ref": {channel.FitID(msg.DeliveryID, referenceLimit)},
	}
	if !sms.IsGSM(msg.Body) {
		form.Set("type", "unicode")
	}
	if callback := s.publicURL + callbackPath; s.publicURL != "" && len(callback) <= referenceLimit {
		form.Set("callback", callback)
	}
	if left, expires := msg.TimeLeft(maxTimeToLive); expires {
		// Vonage's minimum is 20 seconds, so it may send a message up to 20 seconds late.
		form.Set("ttl", strconv.FormatInt(max(left, minTimeToLive).Milliseconds(), 10))
	}
	return form
}

// accepted is the status of a message that Vonage takes.
const accepted = "0"

// meaning classifies Vonage's statuses. All other statuses are Refused.
// https://developer.vonage.com/en/api-errors/sms
var meaning = map[string]notification.FailureClass{
	"1":  notification.Busy, // too many requests
	"10": notification.Busy, // too many connections

	"4":  notification.Account, // wrong key or secret
	"8":  notification.Account, // our account is barred
	"9":  notification.Account, // no credit
	"11": notification.Account, // our account may not use this API
	"14": notification.Account, // wrong signature
	"15": notification.Account, // our number or name is not allowed there
	"29": notification.Account, // a demo account may only write to listed numbers

	"5": notification.Ambiguous, // internal error
}

// refusal returns the failure of a message with a status.
func refusal(exchange *channel.Exchange, status string) *notification.ProviderError {
	code, err := strconv.Atoi(status)
	if err != nil || code < 1 || code > 999 {
		return exchange.Unexpected(provider)
	}
	failure := &notification.ProviderError{Provider: provider, Class: notification.Refused, Status: exchange.Status, Code: status}
	if class, known := meaning[status]; known {
		failure.Class = class
	}
	return failure
}
