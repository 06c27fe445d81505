// Package sms sends notifications as text messages through Twilio.
package sms

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	twilio "github.com/twilio/twilio-go/client"
	api "github.com/twilio/twilio-go/rest/api/v2010"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	provider     = "twilio"
	bodyLimit    = 1600 // characters; Twilio's, error 21617
	callbackPath = "/webhooks/twilio"

	// callbackRetries has Twilio repeat a receipt that found the gateway away, up to five times
	// within 15 s; else it would repeat only a failed connection, once.
	// https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides
	callbackRetries = "#rc=5&rp=5xx,ct,rt"
)

var e164 = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)

// Sender sends text messages. It is safe for concurrent use.
type Sender struct {
	settings  Settings
	base      *url.URL
	publicURL string // of the gateway, for receipts; empty: none are asked for, since Twilio refuses a message whose callback it cannot reach
	timeout   time.Duration
	wire      http.RoundTripper
}

// Send hands the body of msg to Twilio, once, within the sender's timeout. It does
// not send the title, since a text message has none. Every error is a
// [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	if code := flaw(msg); code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	exchange := channel.NewExchange(s.wire)
	created, err := s.service(ctx, exchange).CreateMessage(s.params(msg))

	answer := notification.Answer{Status: exchange.Status, Took: exchange.Took}
	if failure := exchange.Failure(ctx, provider); failure != nil {
		refine(failure, err)
		return answer, failure
	}
	if err != nil || created.Sid == nil || *created.Sid == "" {
		return answer, exchange.Unexpected(provider)
	}
	answer.ProviderID = channel.ProviderID(*created.Sid)
	return answer, nil
}

// flaw names what makes msg impossible to send, or returns "".
func flaw(msg notification.Message) string {
	switch {
	case !e164.MatchString(msg.To):
		return "invalid number"
	case strings.TrimSpace(msg.Body) == "":
		return "empty body"
	case utf8.RuneCountInString(msg.Body) > bodyLimit:
		return "body too long"
	default:
		return ""
	}
}

// service returns Twilio's API for one call. Its SDK takes no context, so the
// transport of this call has it.
func (s *Sender) service(ctx context.Context, exchange *channel.Exchange) *api.ApiService {
	client := exchange.Client()
	client.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(ctx)
		req.URL.Scheme, req.URL.Host = s.base.Scheme, s.base.Host
		req.Host = ""
		return exchange.RoundTrip(req)
	})
	credentials := &twilio.Client{Credentials: twilio.NewCredentials(s.settings.AccountSID, string(s.settings.AuthToken)), HTTPClient: client}
	credentials.SetAccountSid(s.settings.AccountSID)
	return api.NewApiServiceWithClient(credentials)
}

func (s *Sender) params(msg notification.Message) *api.CreateMessageParams {
	params := (&api.CreateMessageParams{}).SetTo(msg.To).SetFrom(s.settings.From).SetBody(msg.Body)
	if s.publicURL == "" {
		return params
	}
	return params.SetStatusCallback(s.publicURL + callbackPath + "?" + url.Values{"delivery_id": {msg.DeliveryID}}.Encode() + callbackRetries)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// meaning is what Twilio's codes say beyond the HTTP status that they come with.
// https://www.twilio.com/docs/api/errors
var meaning = map[int]notification.FailureClass{
	20429: notification.Busy, // too many requests
	21611: notification.Busy, // the queue of our number is full

	21211: notification.Refused, // invalid number
	21212: notification.Refused, // invalid sender
	21408: notification.Refused, // no permission for that region
	21606: notification.Refused, // the sender cannot reach that number
	21610: notification.Refused, // the person opted out
	21612: notification.Refused, // no route to that number
	21614: notification.Refused, // not a mobile number
	21617: notification.Refused, // body too long
}

// suppresses are the codes by which no later message would get to the number either.
var suppresses = map[int]notification.SuppressionReason{
	21211: notification.SuppressedInvalid,
	21610: notification.SuppressedOptOut,
	21614: notification.SuppressedInvalid,
}

// refine adds Twilio's own code to failure. A code may change the class of a
// failure, but never of one that is ambiguous.
func refine(failure *notification.ProviderError, err error) {
	var answer *twilio.TwilioRestError
	if !errors.As(err, &answer) || answer.Code < 10_000 || answer.Code > 99_999 {
		return
	}
	failure.Code = strconv.Itoa(answer.Code)
	class, known := meaning[answer.Code]
	if known && failure.Class != notification.Ambiguous {
		failure.Class = class
	}
	if failure.Class == notification.Refused {
		failure.Suppress = suppresses[answer.Code]
	}
}
