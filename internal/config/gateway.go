package config

import (
	"crypto/ecdh"
	"encoding/base64"
	"net"
	"net/url"
	"regexp"
	"strings"

	"herald/internal/config/environment"
)

// Gateway holds the settings of the gateway, without the settings of sign-in and receipts.
type Gateway struct {
	DatabaseURL    environment.Secret `env:"DATABASE_URL,required,notEmpty"`
	RabbitMQURL    environment.Secret `env:"RABBITMQ_URL,required,notEmpty"`
	AllowCleartext bool               `env:"ALLOW_CLEARTEXT" envDefault:"false"` // permits unencrypted traffic to other hosts
	Secret         environment.Secret `env:"HERALD_SECRET,required,notEmpty"`    // 32 bytes or more; see package secret
	SecretPrevious environment.Secret `env:"HERALD_SECRET_PREVIOUS"`             // the secret that HERALD_SECRET replaces; empty if none

	HTTPAddr  string `env:"GATEWAY_HTTP_ADDR" envDefault:":8080"`
	AdminAddr string `env:"GATEWAY_ADMIN_ADDR" envDefault:"127.0.0.1:8082"` // health and metrics
	// as browsers send them; the gateway's origin is always allowed
	AllowedOrigins []string `env:"GATEWAY_ALLOWED_ORIGINS"`
	Demo           bool     `env:"GATEWAY_DEMO" envDefault:"false"` // people choose in the page who they are

	IngestAudience string `env:"INGEST_AUDIENCE"` // the `aud` of producers' tokens; empty: POST /api/events is off

	LinkSchemes []string `env:"TEMPLATE_LINK_SCHEMES"` // as the worker's

	PublicURL  string `env:"PUBLIC_URL"`               // this gateway's URL for providers and recipients; empty: unreachable
	WebPushKey string `env:"WEBPUSH_VAPID_PUBLIC_KEY"` // browsers subscribe with it; empty: the page offers no notifications

	// who the pages behind links are from
	BrandName    string `env:"BRAND_NAME"`     // empty: EMAIL_FROM_NAME; if that is empty, too: no name
	BrandLogoURL string `env:"BRAND_LOGO_URL"` // https, or http on this machine; empty: no logo

	MaxSockets             int `env:"GATEWAY_MAX_SOCKETS" envDefault:"10000"`            // maximum open sockets
	MaxSocketsPerRecipient int `env:"GATEWAY_MAX_SOCKETS_PER_RECIPIENT" envDefault:"20"` // maximum open sockets of one recipient
	// maximum connections of a public address; 0: no limit
	MaxPerAddress int `env:"GATEWAY_MAX_CONNECTIONS_PER_ADDRESS" envDefault:"1000"`
}

// maxSockets is much more than one process can serve.
const maxSockets = 1_000_000

// GatewayFrom does the same as [From] for the gateway. readOthers reads the settings of sign-in and
// receipts. It calls readSenders only for a demo, which must not use real providers.
func GatewayFrom(values map[string]string, readOthers, readSenders func(*environment.Reader)) (Gateway, error) {
	r := environment.NewReader(values)
	var cfg Gateway
	r.Read("", &cfg)
	r.AllowCleartext = cfg.AllowCleartext
	cfg.check(r)
	readOthers(r)
	if cfg.Demo {
		readSenders(r)
		cfg.checkDemo(r)
	}
	cfg.checkBrand(r)
	if cfg.PublicURL != "" {
		cfg.PublicURL = r.PublicURL("PUBLIC_URL", cfg.PublicURL)
	}
	return complete(r, cfg)
}

func (g *Gateway) check(r *environment.Reader) {
	checkDatabase(r, "DATABASE_URL", string(g.DatabaseURL))
	checkBroker(r, g.RabbitMQURL)
	r.SigningSecret("HERALD_SECRET", g.Secret)
	r.PreviousSecret("HERALD_SECRET_PREVIOUS", g.SecretPrevious, g.Secret)
	r.Unpublished("HERALD_SECRET_PREVIOUS", g.SecretPrevious)
	g.LinkSchemes = linkSchemes(r, g.LinkSchemes)
	checkListen(r, "GATEWAY_HTTP_ADDR", g.HTTPAddr)
	checkListen(r, "GATEWAY_ADMIN_ADDR", g.AdminAddr)
	for i, origin := range g.AllowedOrigins {
		if g.AllowedOrigins[i] = browserOrigin(strings.TrimSpace(origin)); g.AllowedOrigins[i] == "" {
			r.Refuse("GATEWAY_ALLOWED_ORIGINS", "must be origins such as https://app.example.com, without a path, and with commas between them")
		}
	}
	if audience, _ := r.LookupEnv("AUTH_AUDIENCE"); g.IngestAudience != "" && g.IngestAudience == audience {
		r.Refuse("INGEST_AUDIENCE", "must differ from AUTH_AUDIENCE: recipients could write events")
	}
	if key, err := base64.RawURLEncoding.DecodeString(g.WebPushKey); g.WebPushKey != "" {
		if _, invalid := ecdh.P256().NewPublicKey(key); err != nil || invalid != nil {
			r.Refuse("WEBPUSH_VAPID_PUBLIC_KEY", "must be a public key: make one with `starter secret vapid`")
		}
	}
	environment.Within(r, "GATEWAY_MAX_SOCKETS", g.MaxSockets, 1, maxSockets)
	environment.Within(r, "GATEWAY_MAX_SOCKETS_PER_RECIPIENT", g.MaxSocketsPerRecipient, 1, maxSockets)
	environment.Within(r, "GATEWAY_MAX_CONNECTIONS_PER_ADDRESS", g.MaxPerAddress, 0, maxSockets)
}

// brandName is one line of 1 to 100 characters.
var brandName = regexp.MustCompile(`^[^\p{Cc}\x{2028}\x{2029}]{1,100}$`)

func (g *Gateway) checkBrand(r *environment.Reader) {
	if g.BrandName == "" {
		g.BrandName, _ = r.LookupEnv("EMAIL_FROM_NAME")
	} else {
		r.Match("BRAND_NAME", g.BrandName, brandName, "must be one line of up to 100 characters")
	}
	logo, err := url.Parse(g.BrandLogoURL)
	switch {
	case g.BrandLogoURL == "":
	case err != nil || logo.User != nil || !environment.IsHost(logo.Host) || strings.ContainsAny(logo.Host, "*;'\""):
		r.Refuse("BRAND_LOGO_URL", "must be the URL of a picture, such as https://example.com/logo.png")
	case logo.Scheme != "https" && (logo.Scheme != "http" || !environment.IsLocal(logo.Hostname())):
		r.Refuse("BRAND_LOGO_URL", "must be https: browsers load it in the pages behind links")
	}
}

// checkDemo refuses a demo that other machines can reach, or that has real providers: people can
// choose who they are.
func (g *Gateway) checkDemo(r *environment.Reader) {
	if host, _, _ := net.SplitHostPort(g.HTTPAddr); !environment.IsLocal(host) {
		r.Refuse("GATEWAY_DEMO", "lets each visitor sign in as anybody: GATEWAY_HTTP_ADDR must be a loopback address, such as 127.0.0.1:8080")
	}
	if remote := r.RemoteProvider(); remote != "" {
		r.Refuse("GATEWAY_DEMO", "lets each visitor sign in as anybody: "+remote)
	}
	secret, _ := r.LookupEnv("AUTH_HS256_SECRET")
	r.Need("AUTH_HS256_SECRET", secret, "GATEWAY_DEMO, which signs with it,")
}

// browserOrigin returns an origin as browsers send it: in lower case, without the scheme's default
// port. It returns "" if text is no origin.
func browserOrigin(text string) string {
	u, err := url.Parse(strings.ToLower(text))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || !environment.IsHost(u.Host) || strings.Contains(u.Host, "*") ||
		strings.ToLower(text) != u.Scheme+"://"+u.Host {
		return ""
	}
	if u.Scheme == "http" && u.Port() == "80" || u.Scheme == "https" && u.Port() == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	}
	return u.Scheme + "://" + u.Host
}
