package kafka

import (
	"net"
	"regexp"
	"strings"

	"herald/internal/config/environment"
)

// Settings holds the brokers' addresses and our credentials.
type Settings struct {
	Brokers   []string           `env:"KAFKA_BROKERS"` // host:port; empty: sources that need Kafka are off
	TLS       bool               `env:"KAFKA_TLS" envDefault:"false"`
	Mechanism string             `env:"KAFKA_SASL_MECHANISM"` // see mechanismForm; empty: no credentials
	Username  string             `env:"KAFKA_USERNAME"`
	Password  environment.Secret `env:"KAFKA_PASSWORD"`
	ClientID  string             `env:"KAFKA_CLIENT_ID" envDefault:"herald"` // appears in the brokers' logs and quotas
}

var mechanismForm = regexp.MustCompile(`^(PLAIN|SCRAM-SHA-256|SCRAM-SHA-512)$`)

// On reports whether any broker is set.
func (s *Settings) On() bool { return len(s.Brokers) > 0 }

// Read reads and checks the settings.
func (s *Settings) Read(r *environment.Reader) {
	r.Read("", s)
	s.readBrokers(r)
	r.Match("KAFKA_CLIENT_ID", s.ClientID, environment.Name, "must be of letters, digits and . _ : -, 100 at most")
	if s.Mechanism != "" {
		r.Match("KAFKA_SASL_MECHANISM", s.Mechanism, mechanismForm, "must be PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
		r.Need("KAFKA_USERNAME", s.Username, "KAFKA_SASL_MECHANISM")
		r.Need("KAFKA_PASSWORD", string(s.Password), "KAFKA_SASL_MECHANISM")
	}
	if s.Username != "" {
		r.Need("KAFKA_SASL_MECHANISM", s.Mechanism, "KAFKA_USERNAME")
	}
	if s.Password != "" {
		r.Need("KAFKA_SASL_MECHANISM", s.Mechanism, "KAFKA_PASSWORD")
	}
}

func (s *Settings) readBrokers(r *environment.Reader) {
	for i, broker := range s.Brokers {
		broker = strings.TrimSpace(broker)
		s.Brokers[i] = broker
		host, port, err := net.SplitHostPort(broker)
		if err != nil || host == "" || !environment.IsHost(broker) || !environment.IsPort(port) {
			r.Refuse("KAFKA_BROKERS", "must be host:port, with commas between them")
			continue
		}
		r.Encrypted("KAFKA_BROKERS", s.TLS || environment.IsLocal(host), "KAFKA_TLS=true")
	}
}
