package e2e_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

const (
	tokenSecret   = "whoever signs tokens in the tests knows this"
	tokenIssuer   = "https://issuer.example.com"
	tokenAudience = "herald"
)

// gateway is one running gateway process.
type gateway struct {
	*worker
}

// startGateway starts a gateway and waits until it is ready.
func (s *system) startGateway(settings ...string) *gateway {
	s.t.Helper()
	g := s.launchGateway(settings...)
	s.eventually(func() bool {
		select {
		case <-g.ended:
			s.t.Fatalf("gateway ended early: %v\n%s", g.err, g.output)
		default:
		}
		return g.ready() == http.StatusOK
	}, "gateway is not ready:\n%s", g.output)
	return g
}

// launchGateway starts a gateway and does not wait.
func (s *system) launchGateway(settings ...string) *gateway {
	s.t.Helper()
	return &gateway{s.launch("gateway", append([]string{
		"GATEWAY_HTTP_ADDR=127.0.0.1:0", "GATEWAY_ADMIN_ADDR=127.0.0.1:0",
		"AUTH_ISSUER=" + tokenIssuer, "AUTH_AUDIENCE=" + tokenAudience, "AUTH_HS256_SECRET=" + tokenSecret,
	}, settings...))}
}

var gatewayListens = regexp.MustCompile(`"msg":"gateway listens","addr":"([^"]+)"`)

// host is host:port of its public port.
func (g *gateway) host() string {
	g.t.Helper()
	said := gatewayListens.FindStringSubmatch(g.output.String())
	require.NotNil(g.t, said, "it does not listen yet")
	return said[1]
}

// request asks the public port; body may be empty.
func (g *gateway) request(method, path, body string, header map[string]string) (status int, answer string) {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, "http://"+g.host()+path, strings.NewReader(body))
	require.NoError(g.t, err)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(g.t, err)
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	require.NoError(g.t, err)
	return response.StatusCode, string(read)
}

// tokenOf is a token of a recipient, as the backend of an application signs it.
func tokenOf(t *testing.T, who notification.RecipientKey) string {
	t.Helper()
	return tokenOfNamed(t, who, "")
}

// tokenOfNamed is a token that says the recipient's name, too.
func tokenOfNamed(t *testing.T, who notification.RecipientKey, name string) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": tokenIssuer, "aud": tokenAudience, "sub": who.UserID, "user_type": who.UserType, "name": name, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(tokenSecret))
	require.NoError(t, err)
	return token
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}
