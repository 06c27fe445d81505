package environment_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/config/environment"
)

type settings struct {
	Key   environment.Secret `env:"KEY,required,notEmpty"`
	Size  int                `env:"SIZE" envDefault:"7"`
	Pause time.Duration      `env:"PAUSE"`
	Share float64            `env:"SHARE"`
	On    bool               `env:"ON"`
}

func TestRead(t *testing.T) {
	t.Parallel()

	r := environment.NewReader(map[string]string{"MY_KEY": "k", "MY_SIZE": "", "MY_ON": "true", "PAUSE": "1h"})
	got := settings{Pause: time.Second, Size: 8}
	r.Read("MY_", &got)

	require.NoError(t, r.Err())
	require.Equal(t, settings{Key: "k", Size: 7, Pause: time.Second, On: true}, got, "empty is not set")
}

// The reader never reads the process's environment by itself.
func TestReadIgnoresTheEnvironmentOfTheProcess(t *testing.T) {
	t.Setenv("KEY", "k")

	r := environment.NewReader(nil)
	r.Read("", &settings{})
	require.EqualError(t, r.Err(), "settings: KEY is not set")
}

func TestErrNamesEachWrongSettingOnce(t *testing.T) {
	t.Parallel()

	r := environment.NewReader(map[string]string{"KEY": "", "SIZE": "hunter2", "PAUSE": "hunter2", "SHARE": "hunter2", "ON": "hunter2"})
	r.Read("", &settings{})
	r.Refuse("SIZE", "is too large")
	r.Refuse("OTHER", "is too small")
	require.EqualError(t, r.Err(), "settings: KEY is empty; SIZE must be a whole number; PAUSE must be a duration such as 30s; "+
		"SHARE must be a number; ON must be true or false; OTHER is too small")
}

func TestURL(t *testing.T) {
	t.Parallel()

	for _, right := range []string{"https://host", "http://host:80/path", "http://[::1]:9090/"} {
		r := environment.NewReader(nil)
		r.URL("KEY", right)
		require.NoError(t, r.Err(), right)
	}
	for _, wrong := range []string{
		"", "localhost:8080", "ftp://host", "http://", "http://host:port", "http://host:", "http://host?x=1", "http://host#x",
		"http://u:hunter2@host", "http://host\n",
	} {
		r := environment.NewReader(nil)
		r.URL("KEY", wrong)
		require.EqualError(t, r.Err(), "settings: KEY must be a URL such as https://host, without user, query and fragment", wrong)
	}
	require.Equal(t, "https://host/base", environment.NewReader(nil).URL("KEY", "https://host/base/"))
}

func TestEnviron(t *testing.T) {
	t.Parallel()

	r := environment.NewReader(map[string]string{"B": "x=y", "A": "1"})
	require.Equal(t, []string{"A=1", "B=x=y"}, r.Environ())
	value, ok := r.LookupEnv("B")
	require.True(t, ok)
	require.Equal(t, "x=y", value)
}

// PUBLIC_URL may be in clear text only if Herald and all used providers are on this machine. The
// error names the setting with a remote address.
func TestPublicURL(t *testing.T) {
	t.Parallel()

	const local, remote = "http://127.0.0.1:9090", "https://api.example.com"
	const elsewhere = "must be https: the provider of BASE_URL is not on this machine"
	tests := []struct {
		name, public, provider string
		on                     bool
		hosts                  string // "": not set, so the default applies
		refused                string
	}{
		{name: "https", public: "https://herald.example.com", provider: remote, on: true},
		{name: "all on this machine", public: "http://localhost:8080", provider: local, on: true, hosts: "localhost,[::1]:9090"},
		{name: "another host's", public: "http://herald.example.com", provider: local, on: true,
			refused: "must be https: it is not on this machine"},
		{name: "a provider elsewhere", public: "http://localhost:8080", provider: remote, on: true, refused: elsewhere},
		{name: "a provider elsewhere that is off", public: "http://localhost:8080", provider: remote},
		{name: "a provider elsewhere by default", public: "http://localhost:8080", on: true,
			refused: "must be https: BASE_URL is not set, so the provider is not on this machine"},
		{name: "one host of a provider elsewhere", public: "http://localhost:8080", hosts: "localhost,hooks.example.com", provider: local,
			refused: "must be https: the provider of HOSTS is not on this machine"},
	}
	for _, tt := range tests {
		values := map[string]string{"BASE_URL": tt.provider}
		hosts := []string{"hooks.example.com"} // the default
		if tt.hosts != "" {
			values["HOSTS"], hosts = tt.hosts, strings.Split(tt.hosts, ",")
		}
		r := environment.NewReader(values)
		r.ProviderURL("BASE_URL", cmp.Or(tt.provider, remote), tt.on)
		r.ProviderHosts("HOSTS", hosts)
		require.Equal(t, tt.public, r.PublicURL("PUBLIC_URL", tt.public), tt.name)
		if tt.refused == "" {
			require.NoError(t, r.Err(), tt.name)
		} else {
			require.EqualError(t, r.Err(), "settings: PUBLIC_URL "+tt.refused, tt.name)
		}
	}
}

func TestProviderURLIsEncrypted(t *testing.T) {
	t.Parallel()

	tests := []struct {
		url     string
		refused bool
	}{
		{url: "https://sandbox/v1"},
		{url: "http://[::1]:9090/v1"},
		{url: "http://127.0.0.2"},
		{url: "http://sandbox:9090", refused: true},
		{url: "http://10.0.0.7:9090", refused: true},
		{url: "http://localhost.example.com/v1", refused: true},
	}
	for _, tt := range tests {
		r := environment.NewReader(nil)
		r.ProviderURL("BASE_URL", tt.url, false)
		require.Equal(t, tt.refused, r.Err() != nil, "%s: %v", tt.url, r.Err())
		r = environment.NewReader(nil)
		r.AllowCleartext = true
		r.ProviderURL("BASE_URL", tt.url, false)
		require.NoError(t, r.Err(), tt.url)
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()

	for value, refused := range map[int]bool{0: true, 1: false, 7: false, 8: true} {
		r := environment.NewReader(nil)
		environment.Within(r, "SIZE", value, 1, 7)
		require.Equal(t, refused, r.Err() != nil, fmt.Sprint(value))
	}
}

// No way of printing settings shows a secret.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()

	secret := environment.Secret("hunter2")
	held := settings{Key: secret}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb+"\n", held)
		fmt.Fprintf(&shown, verb+"\n", &held)
		fmt.Fprintf(&shown, verb+"\n", secret)
	}
	slog.New(slog.NewJSONHandler(&shown, nil)).Info("settings", "all", held, "key", secret)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("settings", "all", held, "key", secret)
	require.NoError(t, json.NewEncoder(&shown).Encode(held))
	shown.WriteString(secret.String())

	require.NotContains(t, shown.String(), "hunter")
	require.NotContains(t, shown.String(), fmt.Sprintf("%x", "hunter"))
	require.Contains(t, shown.String(), "***")
	require.Equal(t, "hunter2", string(secret))
}

// SigningSecret refuses short secrets, and secrets published in Herald's files.
func TestSigningSecret(t *testing.T) {
	t.Parallel()

	for value, refused := range map[environment.Secret]string{
		"a secret of a test, made for nobody":                  "",
		"of a sandbox that nobody else can reach":              "is published in Herald's files: make a new one with `openssl rand -base64 32`",
		"signs tokens of a sandbox that nobody else can reach": "is published in Herald's files: make a new one with `openssl rand -base64 32`",
		"too short": "must have 32 bytes or more: make it with `openssl rand -base64 32`",
	} {
		r := environment.NewReader(nil)
		r.SigningSecret("KEY", value)
		if refused == "" {
			require.NoError(t, r.Err())
		} else {
			require.EqualError(t, r.Err(), "settings: KEY "+refused)
		}
	}
}

// docker-compose.yml has no secrets and no defaults for secrets, except the sandbox's, which Herald
// refuses for other providers.
func TestComposePublishesNoSecret(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../../docker-compose.yml")
	require.NoError(t, err)
	secrets := regexp.MustCompile(`(?m)^ +\w*SECRET\w*: *(.*)$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, secrets, 3)
	for _, secret := range secrets {
		require.Regexp(t, `^"?\$\{HERALD_(TOKEN_)?SECRET:\?[^}]+\}"?$|^whsec_c2FuZGJveC1zYW5kYm94LXNhbmRib3gt$`, strings.TrimSpace(secret[1]))
	}
}

// The sandbox's credential is accepted only for the sandbox.
func TestCredential(t *testing.T) {
	t.Parallel()

	const refused = "settings: TOKEN is the sandbox's, but the provider is not: set the key of your account"
	for _, url := range []string{"http://127.0.0.1:9090", "http://sandbox:9090"} {
		r := environment.NewReader(nil)
		r.Credential("TOKEN", "sandbox", url)
		require.NoError(t, r.Err(), url)
	}
	r := environment.NewReader(nil)
	r.Credential("TOKEN", "another", "https://api.example.com")
	require.NoError(t, r.Err())
	r.Credential("TOKEN", "sandbox", "https://api.example.com")
	require.EqualError(t, r.Err(), refused)
}
