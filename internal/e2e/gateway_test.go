package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

const (
	tokenSecret   = "the tests sign their tokens with this"
	tokenIssuer   = "https://issuer.example.com"
	tokenAudience = "herald"
)

// gateway is a running gateway process.
type gateway struct {
	*worker
}

// startGateway starts a gateway and waits until it is ready.
func (s *system) startGateway(settings ...string) *gateway {
	s.t.Helper()
	g := s.launchGateway(settings...)
	s.awaitReady(g.worker)
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

// host returns host:port of the public port.
func (g *gateway) host() string {
	g.t.Helper()
	said := gatewayListens.FindStringSubmatch(g.output.String())
	require.NotNil(g.t, said, "it does not listen yet")
	return said[1]
}

// request sends a request to the public port. body may be empty.
func (g *gateway) request(method, path, body string, header map[string]string) (status int, answer string) {
	g.t.Helper()
	r := must(http.NewRequestWithContext(g.t.Context(), method, "http://"+g.host()+path, strings.NewReader(body)))(g.t)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response := must(http.DefaultClient.Do(r))(g.t)
	defer func() { _ = response.Body.Close() }()
	read := must(io.ReadAll(response.Body))(g.t)
	return response.StatusCode, string(read)
}

// tokenOf returns a recipient's token, signed like a token from an application's backend.
func tokenOf(t *testing.T, who notification.RecipientKey) string {
	t.Helper()
	return tokenOfNamed(t, who, "")
}

// tokenOfNamed returns a recipient's token that also contains a name.
func tokenOfNamed(t *testing.T, who notification.RecipientKey, name string) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": tokenIssuer, "aud": tokenAudience, "sub": who.UserID, "user_type": who.UserType, "name": name,
		"exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString([]byte(tokenSecret))
	require.NoError(t, err)
	return token
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// All requests of clients to gateways, without a worker.
func TestGateway(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	g, other := s.startGateway(), s.startGateway()
	g.signsIn()
	slow := g.openSlowly()
	g.opensSockets()
	g.rejectsLargeHeaders()
	s.servesBesideHalfOpenConnections(other)
	s.stops(other)
	slow.Wait()
	s.usesEachTicketOnce(g, s.fetchesKeys())
	s.refusesOtherSecrets()
}

// A gateway and a worker end if their secret differs from the database's secret. So does a worker without
// a secret.
func (s *system) refusesOtherSecrets() {
	const differs = "HERALD_SECRET differs from the secret that this database has known since"
	for says, w := range map[string]*worker{
		"gateway: " + differs: s.launchGateway("HERALD_SECRET=another secret of an installation").worker,
		"worker: " + differs:  s.with("HERALD_SECRET=another secret of an installation").launchWorker(),
		"worker: HERALD_SECRET is not set, but this database has known one since": s.with("PUBLIC_URL=", "HERALD_SECRET=").launchWorker(),
	} {
		require.Error(s.t, w.Wait())
		_, reason, _ := strings.Cut(says, ": ")
		require.Contains(s.t, w.output.String(), reason, says)
	}
}

var (
	ada   = notification.RecipientKey{UserType: "ADMIN", UserID: "1"}
	gone  = notification.RecipientKey{UserType: "ADMIN", UserID: "2"} // not active
	other = notification.RecipientKey{UserType: "ADMIN", UserID: "3"} // not in the directory
)

const people = `INSERT INTO recipient (user_type, user_id, active) VALUES ('ADMIN', '1', true), ('ADMIN', '2', false)`

// Requests with valid and invalid tokens. A rejected client gets no reason, but operators see it.
func (g *gateway) signsIn() {
	good := tokenOf(g.t, ada)
	parts := strings.Split(good, ".")
	status, _ := g.request(http.MethodGet, "/api/notifications", "", bearer(good))
	require.NotEqual(g.t, http.StatusUnauthorized, status)

	tests := []struct {
		cause, token string
	}{
		{cause: "none"},
		{cause: "malformed", token: "hunter2"},
		{cause: "signature", token: parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))},
		{cause: "recipient", token: tokenOf(g.t, gone)},
		{cause: "recipient", token: tokenOf(g.t, other)},
	}
	var answers []string
	for _, tt := range tests {
		before := g.metric(`herald_gateway_refusals_total{cause="` + tt.cause + `"}`)
		header := bearer(tt.token)
		if tt.token == "" {
			header = nil
		}
		for _, path := range []string{"/api/notifications", "/api/nowhere"} {
			status, answer := g.request(http.MethodGet, path, "", header)
			require.Equal(g.t, http.StatusUnauthorized, status, tt.cause)
			answers = append(answers, answer)
		}
		require.EqualValues(g.t, before+2, g.metric(`herald_gateway_refusals_total{cause="`+tt.cause+`"}`), tt.cause)
		require.Contains(g.t, g.output.String(), `"cause":"`+tt.cause+`"`)
	}
	for _, answer := range answers {
		require.Equal(g.t, answers[0], answer, "the answer gives no reason")
	}
	for _, secret := range []string{parts[0], parts[1], parts[2], "hunter2", tokenSecret} {
		require.NotContains(g.t, g.output.String(), secret)
	}
}

// fetchesKeys starts a gateway that gets its keys from an issuer, whose certificate the machine trusts.
func (s *system) fetchesKeys() *gateway {
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(s.t)
	issuer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "first"}}})
	}))
	s.t.Cleanup(issuer.Close)
	trusted := filepath.Join(s.t.TempDir(), "trusted.pem")
	require.NoError(s.t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600))
	g := s.startGateway("AUTH_HS256_SECRET=", "AUTH_JWKS_URL="+issuer.URL+"/keys", "SSL_CERT_FILE="+trusted)
	token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
		"iss": tokenIssuer, "aud": tokenAudience, "sub": ada.UserID, "user_type": ada.UserType, "exp": time.Now().Add(time.Hour).Unix(),
	})
	token.Header["kid"] = "first"
	status, _ := g.request(http.MethodGet, "/api/notifications", "", bearer(must(token.SignedString(key))(s.t)))
	require.Equal(s.t, http.StatusOK, status)
	status, _ = g.request(http.MethodGet, "/api/notifications", "", bearer(tokenOf(s.t, ada)))
	require.Equal(s.t, http.StatusUnauthorized, status, "this gateway accepts no token signed with a secret")
	return g
}
