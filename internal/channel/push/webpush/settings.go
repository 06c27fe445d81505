package webpush

import (
	"crypto/ecdh"
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds the keys that identify us to push services.
type Settings struct {
	PrivateKey   environment.Secret `env:"WEBPUSH_VAPID_PRIVATE_KEY"` // empty: the provider is off
	PublicKey    string             `env:"WEBPUSH_VAPID_PUBLIC_KEY"`  // the gateway gives it to browsers; the worker only compares it
	Subject      string             `env:"WEBPUSH_SUBJECT"`           // mailto: or https:, where a push service reaches us
	AllowedHosts []string           `env:"WEBPUSH_ALLOWED_HOSTS" envDefault:"fcm.googleapis.com,updates.push.services.mozilla.com,web.push.apple.com,*.notify.windows.com"`
}

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	if s.PrivateKey == "" {
		return // a gateway has the public key alone
	}
	s.AllowedHosts = r.ProviderHosts("WEBPUSH_ALLOWED_HOSTS", s.AllowedHosts)
	r.Need("WEBPUSH_SUBJECT", s.Subject, "WEBPUSH_VAPID_PRIVATE_KEY")
	if subject, err := url.Parse(s.Subject); s.Subject != "" &&
		(err != nil || subject.Scheme != "https" && subject.Scheme != "mailto" || subject.Opaque == "" && subject.Host == "") {
		r.Refuse("WEBPUSH_SUBJECT", "must be mailto: with an address, or an https URL")
	}
	switch public := publicKey(s.PrivateKey); {
	case public == "":
		r.Refuse("WEBPUSH_VAPID_PRIVATE_KEY", "must be a private key: make one with `starter secret vapid`")
	case s.PublicKey != "" && s.PublicKey != public:
		r.Refuse("WEBPUSH_VAPID_PUBLIC_KEY", "is not the public key of WEBPUSH_VAPID_PRIVATE_KEY")
	}
}

// publicKey returns the public key of a private key, as browsers take it; "" if there is none.
func publicKey(private environment.Secret) string {
	scalar, err := base64.RawURLEncoding.DecodeString(string(private))
	if err != nil {
		return ""
	}
	key, err := ecdh.P256().NewPrivateKey(scalar)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes())
}

// Servers returns the push services whose whole names are known.
func (s *Settings) Servers() []string {
	known := slices.DeleteFunc(slices.Clone(s.AllowedHosts), func(host string) bool { return strings.Contains(host, "*") })
	return channel.WebhookRules{Hosts: known}.Servers()
}

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if s.PrivateKey == "" {
		return nil, channel.Off([2]string{"WEBPUSH_VAPID_PRIVATE_KEY", ""}, [2]string{"WEBPUSH_SUBJECT", s.Subject})
	}
	return &Sender{settings: *s, publicKey: publicKey(s.PrivateKey), timeout: p.Timeout, wire: channel.NewTransport(p.Slots)}, nil
}
