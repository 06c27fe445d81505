// Package wiring maps each channel to the packages of its providers. The worker gets its senders
// from this map, the gateway its receivers of receipts, and starter the settings to check.
package wiring

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"herald/internal/channel"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/channel/email/smtp"
	"herald/internal/channel/push"
	"herald/internal/channel/push/fcm"
	"herald/internal/channel/push/webpush"
	"herald/internal/channel/slack"
	"herald/internal/channel/sms/twilio"
	"herald/internal/channel/sms/vonage"
	"herald/internal/channel/webhook"
	"herald/internal/channel/websocket"
	"herald/internal/config/environment"
	"herald/internal/limit"
	"herald/internal/notification"
)

// Wiring maps each channel to its providers.
type Wiring map[notification.Channel]*Providers

// Settings is the settings of a provider's package. It creates the sender.
type Settings interface {
	Read(r *environment.Reader)
	NewSender(p channel.Process) (channel.Sender, error)
	// Servers returns the URLs of the provider.
	Servers() []string
}

// Receipts is the settings of a provider's receipts, for the gateway.
type Receipts interface {
	Read(r *environment.Reader)
	// Receivers returns the receivers of receipts. publicURL is the gateway's address, which may be empty.
	Receivers(publicURL string) []channel.Receiver
}

// Provider is the settings of one provider.
type Provider struct {
	Name string
	Settings
	Receipts Receipts // nil: the provider sends no receipts
}

// On reports whether the provider's settings are set.
func (p Provider) On() bool {
	_, err := p.NewSender(channel.Process{Slots: 1})
	return err == nil
}

// Providers are the providers of a channel, in the order in which the sender tries them.
type Providers struct {
	All []Provider

	byDevice bool // each provider reaches other devices, so no provider can replace another

	setting string             // the name of the setting with the order
	ordered bool               // the setting is set, so each of All is needed
	limits  map[string]float64 // by provider
}

// New returns empty settings for each provider. Add a line here for a new provider.
func New() Wiring {
	return Wiring{
		notification.WebSocket: {All: []Provider{{"rabbitmq", &websocket.Settings{}, nil}}},
		notification.Email: {All: []Provider{
			{"sendgrid", &sendgrid.Settings{}, &sendgrid.Receipts{}},
			{"smtp", &smtp.Settings{}, nil},
		}},
		notification.Push: {byDevice: true, All: []Provider{
			{"fcm", &fcm.Settings{}, nil},
			{"webpush", &webpush.Settings{}, nil},
		}},
		notification.SMS: {All: []Provider{
			{"twilio", &twilio.Settings{}, &twilio.Receipts{}},
			{"vonage", &vonage.Settings{}, &vonage.Receipts{}},
		}},
		notification.Slack:   {All: []Provider{{"slack", &slack.Settings{}, nil}}},
		notification.Webhook: {All: []Provider{{"webhook", &webhook.Settings{}, nil}}},
	}
}

// Complete returns an error if a channel of package notification has no providers in w.
func (w Wiring) Complete() error {
	for _, channel := range notification.Channels() {
		if w[channel] == nil {
			return fmt.Errorf("channel %s is in notification's table, but wiring.New has no line for it", channel)
		}
	}
	return nil
}

// Read reads the settings of all channels, in the order of notification.Channels.
func (w Wiring) Read(r *environment.Reader) {
	for _, channel := range notification.Channels() {
		w[channel].read(r, channel)
	}
}

// ReadReceipts reads the settings of all receipts.
func (w Wiring) ReadReceipts(r *environment.Reader) {
	for _, provider := range w.withReceipts() {
		provider.Receipts.Read(r)
	}
}

// Receivers returns the receivers of receipts. publicURL is the gateway's address, which may be empty.
func (w Wiring) Receivers(publicURL string) []channel.Receiver {
	var all []channel.Receiver
	for channel, provider := range w.withReceipts() {
		for _, receiver := range provider.Receipts.Receivers(publicURL) {
			receiver.Channel, receiver.Provider = channel, provider.Name
			all = append(all, receiver)
		}
	}
	return all
}

func (w Wiring) withReceipts() iter.Seq2[notification.Channel, Provider] {
	return func(yield func(notification.Channel, Provider) bool) {
		for channel, providers := range w {
			for _, provider := range providers.All {
				if provider.Receipts != nil && !yield(channel, provider) {
					return
				}
			}
		}
	}
}

// OrderSetting returns the name of the setting with the order of a channel's providers.
func OrderSetting(channel notification.Channel) string { return string(channel) + "_PROVIDERS" }

// LimitSetting returns the name of the setting with a provider's rate limit. It is empty if the
// provider has no limit, because messages of its channel never wait.
func LimitSetting(channel notification.Channel, provider string) string {
	if channel.BestEffort() || strings.EqualFold(provider, string(channel)) { // the channel's own limit has that name
		return ""
	}
	return strings.ToUpper(provider) + "_RATE_LIMIT"
}

func (p *Providers) read(r *environment.Reader, channel notification.Channel) {
	p.limits = map[string]float64{}
	for _, provider := range p.All {
		provider.Read(r)
		if setting := LimitSetting(channel, provider.Name); setting != "" {
			p.limits[provider.Name] = readLimit(r, setting)
		}
	}
	setting := OrderSetting(channel)
	value, found := r.LookupEnv(setting)
	if !found || value == "" {
		return
	}
	var ordered []Provider
	for name := range strings.SplitSeq(value, ",") {
		i := slices.IndexFunc(p.All, func(known Provider) bool { return known.Name == strings.TrimSpace(name) })
		if i < 0 || slices.Contains(ordered, p.All[i]) {
			r.Refuse(setting, "must name each provider at most once, with commas between them: "+strings.Join(p.Names(), ", "))
			return
		}
		ordered = append(ordered, p.All[i])
	}
	p.All, p.setting, p.ordered = ordered, setting, true
}

func readLimit(r *environment.Reader, setting string) float64 {
	text, _ := r.LookupEnv(setting)
	limit, err := strconv.ParseFloat(cmp.Or(text, "0"), 64)
	if err != nil {
		limit = math.NaN()
	}
	r.RateLimit(setting, limit)
	return limit
}

// Names returns the names of the providers.
func (p *Providers) Names() []string {
	var names []string
	for _, provider := range p.All {
		names = append(names, provider.Name)
	}
	return names
}

// Limits hold messages of a channel back, in all processes together.
type Limits struct {
	Circuits *limit.Circuits // nil: none is open
	Rate     float64         // messages a second to each destination; 0: no limit but the providers' own
	Tokens   limit.Tokens    // of Rate; nil: the tokens of the database of Circuits
}

// NewSender returns a sender that uses the providers that are on. If no provider is on, or the
// order names a provider that is off, the error is a [channel.OffError].
func (p *Providers) NewSender(process channel.Process, limits Limits) (channel.Sender, error) {
	var senders []*limit.Provider
	var off *channel.OffError
	for _, provider := range p.All {
		sender, err := provider.NewSender(process)
		var isOff *channel.OffError
		switch {
		case errors.As(err, &isOff) && p.ordered:
			return nil, fmt.Errorf("%s names %s, and %w", p.setting, provider.Name, isOff)
		case errors.As(err, &isOff):
			off = off.Or(isOff)
		case err != nil:
			return nil, fmt.Errorf("%s: %w", provider.Name, err)
		default:
			senders = append(senders, &limit.Provider{
				Name: provider.Name, Sender: sender, RateLimit: cmp.Or(p.limits[provider.Name], limits.Rate), Tokens: limits.Tokens,
			})
		}
	}
	if len(senders) == 0 {
		return nil, off
	}
	if !p.byDevice {
		return limit.NewFailover(limits.Circuits, senders...), nil
	}
	var kinds []push.Provider
	for _, sender := range senders {
		kinds = append(kinds, push.Provider{Kind: notification.DeviceKind(sender.Name), Counted: limit.NewFailover(limits.Circuits, sender)})
	}
	return push.NewSender(kinds...), nil
}

// Servers returns the URLs of the providers that are on.
func (p *Providers) Servers() []string {
	var servers []string
	for _, provider := range p.All {
		if provider.On() {
			servers = append(servers, provider.Servers()...)
		}
	}
	return servers
}
