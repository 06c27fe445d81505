// Package example sends text messages through a provider that takes JSON.
package example

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

const provider = "example"

// Settings holds our account.
type Settings struct {
	Token   environment.Secret `env:"EXAMPLE_TOKEN"` // empty: the provider is off
	BaseURL string             `env:"EXAMPLE_BASE_URL" envDefault:"https://sms.example.com"`
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.BaseURL = r.ProviderURL("EXAMPLE_BASE_URL", s.BaseURL, s.Token != "")
	if s.Token != "" {
		const form = "must be visible ASCII, without spaces"
		r.Match("EXAMPLE_TOKEN", string(s.Token), environment.Token, form)
		r.Credential("EXAMPLE_TOKEN", s.Token, s.BaseURL)
	}
}

// Servers returns the provider's address.
func (s *Settings) Servers() []string { return []string{s.BaseURL} }

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.Token == "" {
		return nil, channel.Off([2]string{"EXAMPLE_TOKEN", ""})
	}
	return &Sender{*s, p.Timeout, channel.NewTransport(p.Slots)}, nil
}

// Sender sends text messages. It is safe for concurrent use.
type Sender struct {
	settings Settings
	timeout  time.Duration
	wire     http.RoundTripper
}

// Send passes msg to the provider, once. Every error is a [notification.ProviderError].
func (s *Sender) Send(ctx context.Context, msg notification.Message) (notification.Answer, error) {
	msg, code := sms.Ready(msg)
	if code != "" {
		return notification.Answer{}, channel.Refuse(provider, code)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	fields := map[string]string{"key": msg.DeliveryID, "to": msg.To, "text": msg.Body}
	body, _ := json.Marshal(fields) // texts do not fail
	header := http.Header{"Authorization": {"Bearer " + string(s.settings.Token)}, "Content-Type": {"application/json"}}
	exchange := channel.NewExchange(s.wire)
	_ = exchange.Post(ctx, s.settings.BaseURL+"/messages", header, body) // the exchange holds the answer
	answer := exchange.Answer()
	if failure := exchange.Failure(ctx, provider); failure != nil {
		return answer, failure
	}
	var taken struct{ ID string }
	if json.Unmarshal(exchange.Body, &taken) != nil || taken.ID == "" {
		return answer, exchange.Unexpected(provider)
	}
	answer.ProviderID, answer.Segments = channel.ProviderID(taken.ID), sms.Segments(msg.Body)
	return answer, nil
}
