// Package twilio sends text messages through Twilio.
package twilio

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	twilio "github.com/twilio/twilio-go/client"
	api "github.com/twilio/twilio-go/rest/api/v2010"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/notification"
)

const (
	provider     = "twilio"
	maxValidity  = 10 * time.Hour // Twilio's limit for the time in its queue, and its default
	callbackPath = "/webhooks/twilio"

	// callbackRetries makes Twilio repeat a receipt up to five times within 15 s if the gateway
	// is down. By default Twilio repeats only a failed connection, once.
	// https://www.twilio.com/docs/usage/webhooks/webhooks-connection-overrides
	callbackRetries = "#rc=5&rp=5xx,ct,rt"
)

// Sender sends text messages. It is safe for concurrent use.
type Sender struct {
	settings  Settings
	base      *url.URL
	publicURL string // gateway address for receipts; empty: no receipts, because Twilio refuses unreachable callbacks
	timeout   time.Duration
	wire      http.RoundTripper
}

// From returns our number or name, as recipients see it.
func (s *Sender) From() string { return s.settings.From }

// Send passes the body of msg to Twilio, once, within the sender's time-out. It drops the title,
// because text messages have none. Every error is a [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := sms.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	exchange := channel.NewExchange(s.wire)
	created, err := s.service(ctx, exchange).CreateMessage(s.params(msg))

	answer := exchange.Answer()
	if failure := exchange.Failure(ctx, provider); failure != nil {
		refine(failure, err)
		return answer, failure
	}
	if err != nil || created.Sid == nil || *created.Sid == "" {
		return answer, exchange.Unexpected(provider)
	}
	answer.ProviderID, answer.Segments = channel.ProviderID(*created.Sid), sms.Segments(msg.Body)
	return answer, nil
}

// service returns Twilio's API for one call. The SDK takes no context, so this call's transport
// adds it.
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
	if left, expires := msg.TimeLeft(maxValidity); expires {
		// Twilio's minimum is one second, so it may send a message up to a second late.
		params.SetValidityPeriod(max(1, int(left.Seconds())))
	}
	if s.publicURL == "" {
		return params
	}
	return params.SetStatusCallback(s.publicURL + callbackPath + "?" + url.Values{"delivery_id": {msg.DeliveryID}}.Encode() + callbackRetries)
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// meaning classifies Twilio's codes, which are more exact than the HTTP status.
// https://www.twilio.com/docs/api/errors
var meaning = map[int]notification.FailureClass{
	20429: notification.Busy, // too many requests
	21611: notification.Busy, // our number's queue is full

	20404: notification.Account, // no such account
	21212: notification.Account, // invalid sender
	21603: notification.Account, // no sender
	21606: notification.Account, // the sender cannot send text messages
	21659: notification.Account, // the sender is not a number of Twilio
	21660: notification.Account, // the sender belongs to another account

	21211: notification.Refused, // invalid number
	21408: notification.Refused, // no permission for the region
	21610: notification.Refused, // the person opted out
	21612: notification.Refused, // no route to the number
	21614: notification.Refused, // not a mobile number
	21635: notification.Refused, // a landline
	21617: notification.Refused, // body too long
}

// refine adds Twilio's code to failure. A code may change the class of a failure, except
// Ambiguous.
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
		failure.Suppress = codes[failure.Code].Suppress
	}
}
