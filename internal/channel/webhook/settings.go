package webhook

import (
	"encoding/base64"
	"errors"
	"net"
	"slices"
	"strings"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds the allowed hosts, and the secret that signs.
type Settings struct {
	AllowedHosts   []string           `env:"WEBHOOK_ALLOWED_HOSTS"` // host or host:port, in lower case; *: every public host; empty: the channel is off
	Secret         environment.Secret `env:"WEBHOOK_SECRET"`        // whsec_ and base64
	SecretPrevious environment.Secret `env:"WEBHOOK_SECRET_PREVIOUS"`

	cleartext bool
}

// anyHost allows every host with a public address.
const anyHost = "*"

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.cleartext = r.AllowCleartext
	s.AllowedHosts = r.ProviderHosts("WEBHOOK_ALLOWED_HOSTS", s.AllowedHosts)
	if len(s.AllowedHosts) > 0 {
		r.Need("WEBHOOK_SECRET", string(s.Secret), "WEBHOOK_ALLOWED_HOSTS")
	}
	if s.SecretPrevious != "" {
		r.Need("WEBHOOK_SECRET", string(s.Secret), "WEBHOOK_SECRET_PREVIOUS")
	}
	s.checkSecret(r, "WEBHOOK_SECRET", s.Secret)
	s.checkSecret(r, "WEBHOOK_SECRET_PREVIOUS", s.SecretPrevious)
}

func (s *Settings) checkSecret(r *environment.Reader, key string, secret environment.Secret) {
	if secret == "" {
		return
	}
	r.Need("WEBHOOK_ALLOWED_HOSTS", strings.Join(s.AllowedHosts, ","), key)
	if _, err := newKey(secret); err != nil {
		r.Refuse(key, err.Error())
	}
	servers := s.Servers()
	if s.rules().AnyHost {
		servers = append(servers, "https://"+anyHost)
	}
	for _, server := range servers {
		r.Credential(key, secret, server)
	}
}

func (s *Settings) rules() channel.WebhookRules {
	return channel.WebhookRules{
		Hosts: slices.DeleteFunc(slices.Clone(s.AllowedHosts), func(host string) bool { return host == anyHost }), AnyHost: slices.Contains(s.AllowedHosts, anyHost),
		Setting: "WEBHOOK_ALLOWED_HOSTS", Cleartext: s.cleartext,
	}
}

// Servers returns the allowed hosts. Nobody knows the hosts of *.
func (s *Settings) Servers() []string { return s.rules().Servers() }

// Flaw returns why a webhook gets no messages; empty: it gets them, or the channel is off.
func (s *Settings) Flaw(webhook string) string {
	if len(s.AllowedHosts) == 0 {
		return ""
	}
	return s.rules().Flaw(webhook)
}

// NewSender returns the sender, or a [channel.OffError].
func (s *Settings) NewSender(p channel.Process) (channel.Sender, error) {
	if len(s.AllowedHosts) == 0 {
		return nil, channel.Off([2]string{"WEBHOOK_ALLOWED_HOSTS"}, [2]string{"WEBHOOK_SECRET", string(s.Secret)})
	}
	sender := &Sender{rules: s.rules(), timeout: p.Timeout}
	for _, secret := range []environment.Secret{s.Secret, s.SecretPrevious} {
		if secret == "" {
			continue
		}
		key, err := newKey(secret)
		if err != nil {
			return nil, err
		}
		sender.keys = append(sender.keys, key)
	}
	sender.wire = newTransport(sender.rules, p.Slots, net.DefaultResolver)
	return sender, nil
}

// The length of a key, in bytes, as Standard Webhooks recommends.
const (
	minKey = 24
	maxKey = 64
)

// newKey reads a secret. The error does not quote it.
func newKey(secret environment.Secret) (*standardwebhooks.Webhook, error) {
	encoded, found := strings.CutPrefix(string(secret), "whsec_")
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !found || err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64: make it with `echo whsec_$(openssl rand -base64 32)`")
	}
	return standardwebhooks.NewWebhookRaw(key)
}
