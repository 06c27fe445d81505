package webhook

import (
	"net"
	"slices"
	"strings"

	"herald/internal/channel"
	"herald/internal/config/environment"
)

// Settings holds the allowed hosts, and the secret that signs.
type Settings struct {
	// host or host:port, in lower case; *: every public host; empty: the channel is off
	AllowedHosts   []string           `env:"WEBHOOK_ALLOWED_HOSTS"`
	Secret         environment.Secret `env:"WEBHOOK_SECRET"` // whsec_ and base64
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
	if _, err := NewKeys(secret); err != nil {
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
		Hosts:   slices.DeleteFunc(slices.Clone(s.AllowedHosts), func(host string) bool { return host == anyHost }),
		AnyHost: slices.Contains(s.AllowedHosts, anyHost),
		Setting: "WEBHOOK_ALLOWED_HOSTS", Cleartext: s.cleartext,
	}
}

// Servers returns the allowed hosts, except for *.
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
	keys, err := NewKeys(s.Secret, s.SecretPrevious)
	if err != nil {
		return nil, err
	}
	return &Sender{rules: s.rules(), keys: keys, timeout: p.Timeout, wire: newTransport(s.rules(), p.Slots, net.DefaultResolver)}, nil
}
