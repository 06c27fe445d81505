package environment_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/environment"
)

// A secret that stands in Herald's files starts no process.
func TestSigningSecret(t *testing.T) {
	t.Parallel()

	for value, refused := range map[environment.Secret]string{
		"a secret of a test, made for nobody":                  "",
		"of a sandbox that nobody else can reach":              "is published in Herald's files: make a new one with `openssl rand -base64 32`",
		"signs tokens of a sandbox that nobody else can reach": "is published in Herald's files: make a new one with `openssl rand -base64 32`",
		"too short": "must have 32 bytes or more, such as those of `openssl rand -base64 32`",
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

// docker-compose.yml has no secret and no default of one.
func TestComposePublishesNoSecret(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../docker-compose.yml")
	require.NoError(t, err)
	secrets := regexp.MustCompile(`(?m)^ +\w*SECRET\w*: *(.*)$`).FindAllStringSubmatch(string(text), -1)
	require.Len(t, secrets, 2)
	for _, secret := range secrets {
		require.Regexp(t, `^"?\$\{HERALD_(TOKEN_)?SECRET:\?[^}]+\}"?$`, strings.TrimSpace(secret[1]))
	}
}

// The sandbox's credentials work at the sandbox alone.
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
