package e2e_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

var (
	ada   = notification.RecipientKey{UserType: "ADMIN", UserID: "1"}
	gone  = notification.RecipientKey{UserType: "ADMIN", UserID: "2"} // not active
	other = notification.RecipientKey{UserType: "ADMIN", UserID: "3"} // not in the directory
)

const people = `INSERT INTO recipient (user_type, user_id, active) VALUES ('ADMIN', '1', true), ('ADMIN', '2', false)`

// TestSignIn asks with tokens of several kinds. Whoever is refused learns nothing from it,
// and operators see why.
func TestSignIn(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	g := s.startGateway()
	good := tokenOf(t, ada)
	parts := strings.Split(good, ".")
	status, _ := g.request(http.MethodGet, "/api/notifications", "", bearer(good))
	require.NotEqual(t, http.StatusUnauthorized, status)

	tests := []struct {
		cause, token string
	}{
		{cause: "none"},
		{cause: "malformed", token: "hunter2"},
		{cause: "signature", token: parts[0] + "." + parts[1] + "." + strings.Repeat("A", len(parts[2]))},
		{cause: "recipient", token: tokenOf(t, gone)},
		{cause: "recipient", token: tokenOf(t, other)},
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
			require.Equal(t, http.StatusUnauthorized, status, tt.cause)
			answers = append(answers, answer)
		}
		require.InDelta(t, before+2, g.metric(`herald_gateway_refusals_total{cause="`+tt.cause+`"}`), 0, tt.cause)
		require.Contains(t, g.output.String(), `"cause":"`+tt.cause+`"`)
	}
	for _, answer := range answers {
		require.Equal(t, answers[0], answer, "the answer does not tell why")
	}
	for _, secret := range []string{parts[0], parts[1], parts[2], "hunter2", tokenSecret} {
		require.NotContains(t, g.output.String(), secret)
	}
}

// TestKeysOfAnIssuer lets a gateway take its keys from a server that changes them, and then
// does not answer any more. The certificate of that server is one that the machine trusts.
func TestKeysOfAnIssuer(t *testing.T) {
	t.Parallel()

	var document atomic.Value // what the server answers; empty: it hangs
	issuer := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if document.Load() == "" {
			<-r.Context().Done()
			return
		}
		_, _ = w.Write([]byte(document.Load().(string)))
	}))
	t.Cleanup(issuer.Close)
	publish := func(ids map[string]*ecdsa.PrivateKey) {
		var set jose.JSONWebKeySet
		for id, key := range ids {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id})
		}
		text, err := json.Marshal(set)
		require.NoError(t, err)
		document.Store(string(text))
	}
	newKey := func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		require.NoError(t, err)
		return key
	}
	first, second := newKey(), newKey()
	publish(map[string]*ecdsa.PrivateKey{"first": first})
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	require.NoError(t, os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: issuer.Certificate().Raw}), 0o600))
	s := newSystem(t)
	s.exec(people)
	g := s.startGateway("AUTH_HS256_SECRET=", "AUTH_JWKS_URL="+issuer.URL+"/keys", "SSL_CERT_FILE="+trusted)
	counts := func(id string, key *ecdsa.PrivateKey) bool {
		token := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{
			"iss": tokenIssuer, "aud": tokenAudience, "sub": ada.UserID, "user_type": ada.UserType, "exp": time.Now().Add(time.Hour).Unix(),
		})
		token.Header["kid"] = id
		text, err := token.SignedString(key)
		require.NoError(t, err)
		status, _ := g.request(http.MethodGet, "/api/notifications", "", bearer(text))
		return status != http.StatusUnauthorized
	}
	require.True(t, counts("first", first), "a gateway is not ready without keys")
	require.False(t, counts("second", second))
	status, _ := g.request(http.MethodGet, "/api/notifications", "", bearer(tokenOf(t, ada)))
	require.Equal(t, http.StatusUnauthorized, status, "a secret counts for nothing here")

	publish(map[string]*ecdsa.PrivateKey{"second": second})
	published := time.Now()
	s.eventually(func() bool { return counts("second", second) }, "a new key does not work")
	require.Less(t, time.Since(published), time.Minute)
	require.False(t, counts("first", first), "it was taken back")

	document.Store("")
	s.eventually(func() bool { return strings.Contains(g.output.String(), "cannot be fetched") }, "nothing is said of a server that hangs")
	begun := time.Now()
	for range 20 {
		require.True(t, counts("second", second))
		require.False(t, counts("third", newKey()))
	}
	require.Less(t, time.Since(begun), 4*time.Second, "nobody waits for a server that hangs")
	require.Equal(t, http.StatusOK, g.ready())
}
