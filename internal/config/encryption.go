package config

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/sdk/client"
)

// encrypted finds an address at another host that is spoken to in clear text.
// remedy is the setting's form that is not. Within this machine nobody listens.
func (c *Starter) encrypted(found *problems, key string, ok bool, remedy string) {
	if !ok && !c.AllowCleartext {
		found.add(key, "is another host's and not encrypted: it needs "+remedy+", or ALLOW_CLEARTEXT=true")
	}
}

// checkDatabaseEncryption looks at each way in which the driver may connect: with
// sslmode=prefer, its default, it goes on in clear text where the server has no TLS.
func (c *Starter) checkDatabaseEncryption(found *problems, parsed *pgconn.Config) {
	ok := parsed.TLSConfig != nil || isLocal(parsed.Host)
	for _, fallback := range parsed.Fallbacks {
		ok = ok && (fallback.TLSConfig != nil || isLocal(fallback.Host))
	}
	c.encrypted(found, "DATABASE_URL", ok, "sslmode=require, verify-ca or verify-full")
}

func (c *Starter) checkTemporalEncryption(found *problems, options client.Options) {
	ok := options.ConnectionOptions.TLS != nil || isLocal(hostOfTarget(cmp.Or(options.HostPort, client.DefaultHostPort)))
	c.encrypted(found, "TEMPORAL_ADDRESS", ok, "TEMPORAL_TLS=true or TEMPORAL_API_KEY")
}

func (c *Starter) checkBrokerEncryption(found *problems, broker amqp.URI) {
	c.encrypted(found, "RABBITMQ_URL", broker.Scheme == "amqps" || isLocal(broker.Host), "amqps://")
}

func (c *Config) checkProviderEncryption(found *problems) {
	for _, base := range []struct{ key, url string }{
		{"SENDGRID_BASE_URL", c.SendGridBaseURL}, {"TWILIO_BASE_URL", c.TwilioBaseURL}, {"FCM_BASE_URL", c.FCMBaseURL},
	} {
		c.encrypted(found, base.key, strings.HasPrefix(base.url, "https:") || isLocal(hostOf(base.url)), "https://")
	}
}

// checkPublicURL refuses a clear-text address that others are to be told of.
// Where all providers are on this machine, nobody else is.
func (c *Config) checkPublicURL(found *problems) {
	if c.PublicURL == "" {
		return
	}
	c.PublicURL = httpURL(found, "PUBLIC_URL", c.PublicURL)
	if !strings.HasPrefix(c.PublicURL, "https:") && !(isLocal(hostOf(c.PublicURL)) && c.providersAreLocal()) {
		found.add("PUBLIC_URL", "must be https, unless it and all providers are on this machine")
	}
}

// providersAreLocal says that every provider of a channel that is on is on this
// machine.
func (c *Config) providersAreLocal() bool {
	for _, host := range c.SlackAllowedHosts {
		if !isLocal(hostOf("//" + host)) {
			return false
		}
	}
	return (c.SendGridAPIKey == "" || isLocal(hostOf(c.SendGridBaseURL))) &&
		(c.TwilioAccountSID == "" || isLocal(hostOf(c.TwilioBaseURL))) &&
		(c.FCMProjectID == "" || isLocal(hostOf(c.FCMBaseURL)))
}

// hostOf returns the host of a URL; of what is none, a host that is not local.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return u.Hostname()
}

// hostOfTarget returns the host of a gRPC target, which may name its resolver:
// host:port, dns:///host:port, unix:/path.
func hostOfTarget(target string) string {
	if scheme, path, ok := strings.Cut(target, ":"); ok && (scheme == "unix" || scheme == "unix-abstract") {
		return "/" + path
	}
	if i := strings.LastIndex(target, "/"); i >= 0 {
		target = target[i+1:]
	}
	if host, _, err := net.SplitHostPort(target); err == nil {
		return host
	}
	return target
}

// isLocal says that a host is this machine: a loopback address, or the path of a
// Unix socket.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || ip != nil && ip.IsLoopback()
}
