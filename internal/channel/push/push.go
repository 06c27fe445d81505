// Package push sends notifications to the devices of a recipient through
// Firebase Cloud Messaging.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"herald/internal/channel"
	"herald/internal/notification"
)

const (
	provider      = "fcm"
	devicesAtOnce = 8 // of one message, so that one person does not take all connections
)

// Config is what Firebase must know of us.
type Config struct {
	ProjectID       string
	BaseURL         string // with its version, https://host/v1; empty: Google's own
	CredentialsFile string // JSON of a service account; may be empty where BaseURL is not Google's

	Timeout time.Duration // of one Send, to all devices; 0: [channel.DefaultTimeout]
	Slots   int           // Sends at a time; 0: [channel.DefaultSlots]
}

// Sender sends push messages. It is safe for concurrent use.
type Sender struct {
	project  string
	endpoint string
	tokens   *tokens
	timeout  time.Duration
	wire     http.RoundTripper
}

// New returns a sender, or an error that names what is wrong with cfg. It
// reads the credentials, but reaches nobody.
func New(cfg Config) (*Sender, error) {
	base, err := channel.ParseBaseURL(cfg.BaseURL, "https://fcm.googleapis.com")
	if err != nil {
		return nil, fmt.Errorf("fcm: %w", err)
	}
	if strings.Trim(base.Path, "/") == "" {
		base = base.JoinPath("v1")
	}
	switch {
	case cfg.ProjectID == "" || strings.ContainsAny(cfg.ProjectID, "/?# "):
		return nil, errors.New("fcm: the project id is empty or malformed")
	case cfg.CredentialsFile == "" && strings.HasSuffix(base.Hostname(), "googleapis.com"):
		return nil, errors.New("fcm: there are no credentials for Google's own service")
	}
	tokens, err := newTokens(cfg.CredentialsFile)
	if err != nil {
		return nil, err
	}
	return &Sender{
		project:  cfg.ProjectID,
		endpoint: strings.TrimSuffix(base.String(), "/"),
		tokens:   tokens,
		timeout:  cmp.Or(cfg.Timeout, channel.DefaultTimeout),
		wire:     channel.NewTransport(cfg.Slots),
	}, nil
}

// Send hands msg to each of its devices, once, all within the sender's
// timeout. It succeeds when one device took it. The receipt names the devices
// that never will again, also beside an error. Every error is a
// [notification.ProviderError]: the one that promises most for another attempt.
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Receipt, error) {
	switch {
	case len(msg.Devices) == 0:
		return notification.Receipt{}, channel.Refuse(provider, codeNoDevice)
	case size(msg) > messageLimit:
		return notification.Receipt{}, channel.Refuse(provider, "message too big")
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()

	token, failure := s.tokens.get(ctx)
	if failure != nil {
		return notification.Receipt{}, failure
	}
	answers := make([]answer, len(msg.Devices))
	var group errgroup.Group
	group.SetLimit(devicesAtOnce)
	for i, device := range msg.Devices {
		group.Go(func() error {
			answers[i] = s.sendTo(ctx, token, compose(msg, device))
			return nil
		})
	}
	_ = group.Wait() // no error: each device has an answer of its own
	return summarize(msg.Devices, answers)
}
