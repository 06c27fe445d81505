// Package email sends notifications as mails through SendGrid.
package email

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/sendgrid/rest"
	"github.com/sendgrid/sendgrid-go"
	sendgridmail "github.com/sendgrid/sendgrid-go/helpers/mail"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	provider = "sendgrid"
	endpoint = "/v3/mail/send"
)

// Config is what SendGrid must know of us.
type Config struct {
	APIKey   string
	BaseURL  string // empty: SendGrid's own
	From     string // a verified sender's address, in ASCII
	FromName string // in ASCII; may be empty

	Timeout time.Duration // of one Send; 0: [channel.DefaultTimeout]
	Slots   int           // Sends at a time; 0: [channel.DefaultSlots]
}

// Sender sends mails. It is safe for concurrent use.
type Sender struct {
	key     string
	baseURL string
	from    *sendgridmail.Email
	timeout time.Duration
	wire    http.RoundTripper
}

// New returns a sender, or an error that names what is wrong with cfg.
func New(cfg Config) (*Sender, error) {
	base, err := channel.ParseBaseURL(cfg.BaseURL, "https://api.sendgrid.com")
	if err != nil {
		return nil, fmt.Errorf("sendgrid: %w", err)
	}
	switch {
	case cfg.APIKey == "" || strings.ContainsFunc(cfg.APIKey, invisible):
		return nil, errors.New("sendgrid: the API key is empty, or has a space or line break in it")
	case !isAddress(cfg.From) || !isASCII(cfg.From):
		return nil, errors.New("sendgrid: from is no e-mail address in ASCII")
	case !isASCII(cfg.FromName) || hasLineBreak(cfg.FromName):
		return nil, errors.New("sendgrid: the sender's name is not one line of ASCII")
	}
	return &Sender{
		key:     cfg.APIKey,
		baseURL: strings.TrimSuffix(base.String(), "/"),
		from:    sendgridmail.NewEmail(cfg.FromName, cfg.From),
		timeout: cmp.Or(cfg.Timeout, channel.DefaultTimeout),
		wire:    channel.NewTransport(cfg.Slots),
	}, nil
}

// Send hands msg to SendGrid, once, within the sender's timeout. Every error
// is a [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Receipt, error) {
	if code := flaw(msg); code != "" {
		return notification.Receipt{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	// A sendgrid.Client keeps the body of the mail it sends: shared between
	// goroutines, it sends mails to the wrong people. A request of our own does not.
	request := sendgrid.GetRequest(s.key, endpoint, s.baseURL)
	request.Method = rest.Post
	request.Body = sendgridmail.GetRequestBody(s.compose(msg))
	exchange := channel.NewExchange(s.wire)
	client := &rest.Client{HTTPClient: exchange.Client()}
	_, _ = client.SendWithContext(ctx, request) // the exchange knows more, and holds no secret

	receipt := notification.Receipt{Status: exchange.Status}
	if failure := exchange.Failure(ctx, provider); failure != nil {
		if failure.Class == notification.Busy && failure.RetryAfter == 0 {
			failure.RetryAfter = untilReset(exchange.Header, time.Now())
		}
		return receipt, failure
	}
	if !accepted(exchange) {
		return receipt, exchange.Unexpected(provider)
	}
	receipt.ProviderID = channel.ProviderID(exchange.Header.Get("X-Message-Id"))
	return receipt, nil
}

// accepted tells SendGrid's 202, whose body is empty, from a page of a proxy,
// and from the 200 of a mail that was checked only.
func accepted(exchange *channel.Exchange) bool {
	page := bytes.HasPrefix(bytes.TrimSpace(exchange.Body), []byte("<"))
	return exchange.Status == http.StatusAccepted && !page
}

// untilReset reads X-RateLimit-Reset, in seconds since 1970, which SendGrid
// sends where others send Retry-After. It returns 0 where there is none.
func untilReset(header http.Header, now time.Time) time.Duration {
	reset, err := strconv.ParseInt(header.Get("X-Ratelimit-Reset"), 10, 64)
	if err != nil || reset <= 0 {
		return 0
	}
	return channel.ClampRetry(time.Unix(reset, 0).Sub(now))
}

// isAddress says that address is a bare address: ada@example.com.
func isAddress(address string) bool {
	parsed, err := mail.ParseAddress(address)
	return err == nil && parsed.Address == address
}
