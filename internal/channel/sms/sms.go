// Package sms sends notifications as text messages through Twilio.
package sms

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
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
)

var (
	e164         = regexp.MustCompile(`^\+[1-9][0-9]{6,14}$`)
	alphanumeric = regexp.MustCompile(`^[a-zA-Z0-9]+$`) // the SDK sends with no other credentials
)

// Config is what Twilio must know of us.
type Config struct {
	AccountSID string
	AuthToken  string
	From       string // our number (E.164), or an alphanumeric sender
	BaseURL    string // scheme and host; empty: Twilio's own
	PublicURL  string // where Twilio reaches the gateway; empty: no receipts are asked for

	Timeout time.Duration // of one Send; 0: [channel.DefaultTimeout]
	Slots   int           // Sends at a time; 0: [channel.DefaultSlots]
}

// Sender sends text messages. It is safe for concurrent use.
type Sender struct {
	account  string
	token    string
	from     string
	base     *url.URL
	callback *url.URL // nil: none
	timeout  time.Duration
	wire     http.RoundTripper
}

// New returns a sender, or an error that names what is wrong with cfg.
func New(cfg Config) (*Sender, error) {
	base, err := channel.ParseBaseURL(cfg.BaseURL, "https://api.twilio.com")
	if err != nil {
		return nil, fmt.Errorf("twilio: %w", err)
	}
	callback, err := callbackOf(cfg.PublicURL)
	if err != nil {
		return nil, err
	}
	switch {
	case !alphanumeric.MatchString(cfg.AccountSID):
		return nil, errors.New("twilio: the account SID is not made of letters and digits")
	case !alphanumeric.MatchString(cfg.AuthToken):
		return nil, errors.New("twilio: the auth token is not made of letters and digits")
	case cfg.From == "":
		return nil, errors.New("twilio: there is no number to send from")
	}
	return &Sender{
		account:  cfg.AccountSID,
		token:    cfg.AuthToken,
		from:     cfg.From,
		base:     base,
		callback: callback,
		timeout:  cmp.Or(cfg.Timeout, channel.DefaultTimeout),
		wire:     channel.NewTransport(cfg.Slots),
	}, nil
}

// callbackOf returns where Twilio is to send receipts; nil where it cannot. An
// address that it cannot reach makes it refuse the message.
func callbackOf(publicURL string) (*url.URL, error) {
	if publicURL == "" {
		return nil, nil //nolint:nilnil // nothing to parse, and nothing wrong
	}
	public, err := channel.ParseBaseURL(publicURL, "")
	if err != nil {
		return nil, fmt.Errorf("twilio: public address of the gateway: %w", err)
	}
	return public.JoinPath(callbackPath), nil
}

// Send hands the body of msg to Twilio, once, within the sender's timeout. A
// text message has no title: msg.Title is not sent. Every error is a
// [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Receipt, error) {
	if code := flaw(msg); code != "" {
		return notification.Receipt{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	exchange := channel.NewExchange(s.wire)
	created, err := s.service(ctx, exchange).CreateMessage(s.params(msg))

	receipt := notification.Receipt{Status: exchange.Status}
	if failure := exchange.Failure(ctx, provider); failure != nil {
		refine(failure, err)
		return receipt, failure
	}
	if err != nil || created.Sid == nil || *created.Sid == "" {
		return receipt, exchange.Unexpected(provider)
	}
	receipt.ProviderID = channel.ProviderID(*created.Sid)
	return receipt, nil
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

// service returns Twilio's API for one call: its SDK knows no context, so the
// transport has to.
func (s *Sender) service(ctx context.Context, exchange *channel.Exchange) *api.ApiService {
	client := exchange.Client()
	client.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(ctx)
		req.URL.Scheme, req.URL.Host = s.base.Scheme, s.base.Host
		req.Host = ""
		return exchange.RoundTrip(req)
	})
	credentials := &twilio.Client{Credentials: twilio.NewCredentials(s.account, s.token), HTTPClient: client}
	credentials.SetAccountSid(s.account)
	return api.NewApiServiceWithClient(credentials)
}

func (s *Sender) params(msg notification.Message) *api.CreateMessageParams {
	params := (&api.CreateMessageParams{}).SetTo(msg.To).SetFrom(s.from).SetBody(msg.Body)
	if s.callback == nil {
		return params
	}
	callback := *s.callback
	callback.RawQuery = url.Values{"delivery_id": {msg.DeliveryID}}.Encode()
	return params.SetStatusCallback(callback.String())
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
