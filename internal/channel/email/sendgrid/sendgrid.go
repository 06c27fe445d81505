// Package sendgrid sends e-mails through SendGrid.
package sendgrid

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sendgrid/rest"
	sdk "github.com/sendgrid/sendgrid-go"
	sendgridmail "github.com/sendgrid/sendgrid-go/helpers/mail"

	"herald/internal/channel"
	"herald/internal/channel/email"
	"herald/internal/notification"
)

const (
	provider = "sendgrid"
	endpoint = "/v3/mail/send"
)

// Sender sends mails. It is safe for concurrent use.
type Sender struct {
	settings Settings
	timeout  time.Duration

	unsubscribeURL func(notification.Message) string // nil: no links
	wire           http.RoundTripper
}

// From returns our address, as recipients see it.
func (s *Sender) From() string { return strings.ToLower(s.settings.Address) }

// Send passes msg to SendGrid, once, within the sender's time-out. Every error is a
// [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := email.Ready(msg)
	if code == "" && !email.ASCIILine.MatchString(msg.To) {
		code = email.OnlyASCII
	}
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	// The SDK's Client stores the body of its mail. Shared between goroutines, it would send
	// mails to the wrong people. A separate request is safe.
	request := sdk.GetRequest(string(s.settings.APIKey), endpoint, s.settings.BaseURL)
	request.Method = rest.Post
	request.Body = sendgridmail.GetRequestBody(s.compose(msg))
	exchange := channel.NewExchange(s.wire)
	client := &rest.Client{HTTPClient: exchange.Client()}
	_, _ = client.SendWithContext(ctx, request) // the exchange holds the answer, and errors without secrets

	answer := exchange.Answer()
	if failure := exchange.Failure(ctx, provider); failure != nil {
		if failure.Class == notification.Busy && failure.RetryAfter == 0 {
			failure.RetryAfter = untilReset(exchange.Header, time.Now())
		}
		return answer, failure
	}
	if !exchange.IsPlain(http.StatusAccepted) { // 200: the mail was only validated
		return answer, exchange.Unexpected(provider)
	}
	answer.ProviderID = channel.ProviderID(exchange.Header.Get("X-Message-Id"))
	return answer, nil
}

// untilReset reads X-RateLimit-Reset, in seconds since 1970, which SendGrid sends instead of
// Retry-After. It returns 0 without that header.
func untilReset(header http.Header, now time.Time) time.Duration {
	reset, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64)
	if err != nil || reset <= 0 {
		return 0
	}
	return channel.ClampRetry(time.Unix(reset, 0).Sub(now))
}
