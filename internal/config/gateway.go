package config

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/base64"
	"net"
	"net/url"
	"regexp"
	"strings"

	"herald/internal/config/environment"
)

// Gateway holds the settings of the gateway, without the settings of package signin.
type Gateway struct {
	DatabaseURL    environment.Secret `env:"DATABASE_URL,required,notEmpty"`
	RabbitMQURL    environment.Secret `env:"RABBITMQ_URL,required,notEmpty"`
	AllowCleartext bool               `env:"ALLOW_CLEARTEXT" envDefault:"false"` // permits unencrypted traffic to other hosts
	Secret         environment.Secret `env:"HERALD_SECRET,required,notEmpty"`    // 32 bytes or more; see package secret
	SecretPrevious environment.Secret `env:"HERALD_SECRET_PREVIOUS"`             // the secret that HERALD_SECRET replaces; empty if none

	HTTPAddr       string   `env:"GATEWAY_HTTP_ADDR" envDefault:":8080"`
	AdminAddr      string   `env:"GATEWAY_ADMIN_ADDR" envDefault:"127.0.0.1:8082"` // health and metrics
	AllowedOrigins []string `env:"GATEWAY_ALLOWED_ORIGINS"`                        // as browsers send them; the gateway's origin is always allowed
	Demo           bool     `env:"GATEWAY_DEMO" envDefault:"false"`                // people choose in the page who they are

	PublicURL         string             `env:"PUBLIC_URL"` // this gateway's URL for Twilio; empty: unreachable
	TwilioToken       environment.Secret `env:"TWILIO_AUTH_TOKEN"`
	VonageSecret      environment.Secret `env:"VONAGE_SIGNATURE_SECRET"`
	SendGridPublicKey string             `env:"SENDGRID_WEBHOOK_PUBLIC_KEY"` // in base64, as SendGrid shows it
	SendGridKey       *ecdsa.PublicKey   `env:"-"`                           // nil if there is no key

	// The previous token and key are also accepted while operators replace them.
	PreviousTwilioToken       environment.Secret `env:"TWILIO_AUTH_TOKEN_PREVIOUS"`
	PreviousVonageSecret      environment.Secret `env:"VONAGE_SIGNATURE_SECRET_PREVIOUS"`
	PreviousSendGridPublicKey string             `env:"SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS"`
	PreviousSendGridKey       *ecdsa.PublicKey   `env:"-"`

	MaxSockets             int `env:"GATEWAY_MAX_SOCKETS" envDefault:"10000"`                // maximum open sockets
	MaxSocketsPerRecipient int `env:"GATEWAY_MAX_SOCKETS_PER_RECIPIENT" envDefault:"20"`     // maximum open sockets of one recipient
	MaxPerAddress          int `env:"GATEWAY_MAX_CONNECTIONS_PER_ADDRESS" envDefault:"1000"` // maximum connections of a public address; 0: no limit
}

// maxSockets is much more than one process can serve.
const maxSockets = 1_000_000

// GatewayFrom does the same as [From] for the gateway. readSignIn reads the settings of package
// signin. It calls readSenders only for a demo, which must not use real providers.
func GatewayFrom(values map[string]string, readSignIn, readSenders func(*environment.Reader)) (Gateway, error) {
	r := environment.NewReader(values)
	var cfg Gateway
	r.Read("", &cfg)
	r.AllowCleartext = cfg.AllowCleartext
	cfg.check(r)
	readSignIn(r)
	if cfg.Demo {
		readSenders(r)
		cfg.checkDemo(r)
	}
	if cfg.PublicURL != "" {
		cfg.PublicURL = r.PublicURL("PUBLIC_URL", cfg.PublicURL)
	}
	if err := r.Err(); err != nil {
		return Gateway{}, err
	}
	return cfg, nil
}

func (g *Gateway) check(r *environment.Reader) {
	checkDatabase(r, "DATABASE_URL", string(g.DatabaseURL))
	checkBroker(r, g.RabbitMQURL)
	r.SigningSecret("HERALD_SECRET", g.Secret)
	r.PreviousSecret("HERALD_SECRET_PREVIOUS", g.SecretPrevious, g.Secret)
	r.Unpublished("HERALD_SECRET_PREVIOUS", g.SecretPrevious)
	checkListen(r, "GATEWAY_HTTP_ADDR", g.HTTPAddr)
	checkListen(r, "GATEWAY_ADMIN_ADDR", g.AdminAddr)
	for i, origin := range g.AllowedOrigins {
		if g.AllowedOrigins[i] = browserOrigin(strings.TrimSpace(origin)); g.AllowedOrigins[i] == "" {
			r.Refuse("GATEWAY_ALLOWED_ORIGINS", "must be origins such as https://app.example.com, without a path, and with commas between them")
		}
	}
	g.checkWebhooks(r)
	environment.Within(r, "GATEWAY_MAX_SOCKETS", g.MaxSockets, 1, maxSockets)
	environment.Within(r, "GATEWAY_MAX_SOCKETS_PER_RECIPIENT", g.MaxSocketsPerRecipient, 1, maxSockets)
	environment.Within(r, "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS", g.MaxPerAddress, 0, maxSockets)
}

// checkWebhooks checks the keys and tokens that verify providers' signatures.
func (g *Gateway) checkWebhooks(r *environment.Reader) {
	g.checkTwilioToken(r, "TWILIO_AUTH_TOKEN", g.TwilioToken)
	g.checkTwilioToken(r, "TWILIO_AUTH_TOKEN_PREVIOUS", g.PreviousTwilioToken)
	if g.PreviousTwilioToken != "" {
		r.Need("TWILIO_AUTH_TOKEN", string(g.TwilioToken), "TWILIO_AUTH_TOKEN_PREVIOUS")
	}
	g.checkVonageSecret(r, "VONAGE_SIGNATURE_SECRET", g.VonageSecret)
	g.checkVonageSecret(r, "VONAGE_SIGNATURE_SECRET_PREVIOUS", g.PreviousVonageSecret)
	if g.PreviousVonageSecret != "" {
		r.Need("VONAGE_SIGNATURE_SECRET", string(g.VonageSecret), "VONAGE_SIGNATURE_SECRET_PREVIOUS")
	}
	g.SendGridKey = readSendGridKey(r, "SENDGRID_WEBHOOK_PUBLIC_KEY", g.SendGridPublicKey)
	g.PreviousSendGridKey = readSendGridKey(r, "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS", g.PreviousSendGridPublicKey)
	if g.PreviousSendGridPublicKey != "" {
		r.Need("SENDGRID_WEBHOOK_PUBLIC_KEY", g.SendGridPublicKey, "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS")
	}
}

func (g *Gateway) checkTwilioToken(r *environment.Reader, key string, token environment.Secret) {
	if token == "" {
		return
	}
	baseURL, _ := r.LookupEnv("TWILIO_BASE_URL")
	r.Match(key, string(token), alphanumeric, "must be letters and digits")
	r.Credential(key, token, cmp.Or(baseURL, "https://api.twilio.com"))
}

func (g *Gateway) checkVonageSecret(r *environment.Reader, key string, secret environment.Secret) {
	if secret == "" {
		return
	}
	baseURL, _ := r.LookupEnv("VONAGE_BASE_URL")
	r.Match(key, string(secret), environment.Token, "must be visible ASCII, without spaces")
	r.Credential(key, secret, cmp.Or(baseURL, "https://rest.nexmo.com"))
}

// readSendGridKey returns the key in a setting, or nil if the setting is empty or wrong.
func readSendGridKey(r *environment.Reader, name, text string) *ecdsa.PublicKey {
	if text == "" {
		return nil
	}
	key := sendgridKey(text)
	if key == nil {
		r.Refuse(name, "must be the verification key that SendGrid shows for its signed event webhook, such as MFkw…")
	}
	return key
}

var alphanumeric = regexp.MustCompile(`^[a-zA-Z0-9]+$`)

// sendgridKey parses a key as SendGrid shows it: in base64, of the curve P-256. It returns nil for
// any other text.
func sendgridKey(text string) *ecdsa.PublicKey {
	der, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return nil
	}
	ec, ok := key.(*ecdsa.PublicKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil
	}
	return ec
}

// checkDemo refuses a demo that other machines can reach, or that has real providers: people can
// choose who they are.
func (g *Gateway) checkDemo(r *environment.Reader) {
	if host, _, _ := net.SplitHostPort(g.HTTPAddr); !environment.IsLocal(host) {
		r.Refuse("GATEWAY_DEMO", "lets everybody be anybody: GATEWAY_HTTP_ADDR must be a loopback address, such as 127.0.0.1:8080")
	}
	if remote := r.RemoteProvider(); remote != "" {
		r.Refuse("GATEWAY_DEMO", "lets everybody be anybody: "+remote)
	}
	secret, _ := r.LookupEnv("AUTH_HS256_SECRET")
	r.Need("AUTH_HS256_SECRET", secret, "GATEWAY_DEMO, which signs with it,")
}

// browserOrigin returns an origin as browsers send it: in lower case, without the scheme's default
// port. It returns "" if text is no origin.
func browserOrigin(text string) string {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !environment.IsHost(u.Host) || strings.Contains(u.Host, "*") || strings.ToLower(text) != u.Scheme+"://"+u.Host {
		return ""
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Scheme + "://" + u.Host
}
