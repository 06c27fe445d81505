package signin_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"herald/internal/web/signin"
)

// made caches RSA keys by size, because making them takes long.
var made sync.Map

func rsaKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	make, _ := made.LoadOrStore(bits, sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, bits) }))
	key, err := make.(func() (*rsa.PrivateKey, error))()
	require.NoError(t, err)
	return key
}

func ecKey(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

func byRS256(t testing.TB, key *rsa.PrivateKey, id string) string {
	return signed(t, jwt.SigningMethodRS256, key, said(nil), map[string]any{"kid": id})
}

func byES256(t testing.TB, key *ecdsa.PrivateKey, id string) string {
	return signed(t, jwt.SigningMethodES256, key, said(nil), map[string]any{"kid": id})
}

// keyServer is an issuer's server of keys.
type keyServer struct {
	*httptest.Server
	answer  atomic.Value // func(http.ResponseWriter, *http.Request)
	fetches atomic.Int64
}

func newKeyServer(t testing.TB, keys ...jose.JSONWebKey) *keyServer {
	t.Helper()
	s := &keyServer{}
	s.publish(t, keys...)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.fetches.Add(1)
		s.answer.Load().(func(http.ResponseWriter, *http.Request))(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *keyServer) publish(t testing.TB, keys ...jose.JSONWebKey) {
	t.Helper()
	document, err := json.Marshal(map[string]any{"keys": append([]jose.JSONWebKey{}, keys...)})
	require.NoError(t, err)
	s.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(document) })
}

func (s *keyServer) answers(how func(http.ResponseWriter, *http.Request)) { s.answer.Store(how) }

// verifier returns a verifier that fetches the keys every few milliseconds, not every 20 s.
func (s *keyServer) verifier(t testing.TB) *signin.Verifier {
	t.Helper()
	v := signin.NewVerifierFor(signin.Settings{Issuer: issuer, Audience: audience, JWKSURL: s.URL}, s.Client(), 5*time.Millisecond)
	ended := make(chan struct{})
	go func() { v.Run(t.Context()); close(ended) }()
	t.Cleanup(func() { <-ended })
	return v
}

func public(key crypto.Signer, id string) jose.JSONWebKey {
	return jose.JSONWebKey{Key: key.Public(), KeyID: id}
}

func eventually(t testing.TB, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, 30*time.Second, time.Millisecond)
}

func counts(v *signin.Verifier, token string) func() bool {
	return func() bool { _, err := v.Verify(token); return err == nil }
}

func refused(v *signin.Verifier, token string) func() bool {
	return func() bool { _, err := v.Verify(token); return err != nil }
}

// Keys verify the tokens of their algorithm. The algorithm in a token never selects the kind of key
// that verifies it.
func TestKeysOfAnIssuer(t *testing.T) {
	t.Parallel()

	rsaOne, ecOne, other := rsaKey(t, 2048), ecKey(t, elliptic.P256()), ecKey(t, elliptic.P256())
	weak, large := rsaKey(t, 1024), ecKey(t, elliptic.P384())
	encryption := public(rsaOne, "encryption")
	encryption.Use = "enc"
	otherAlgorithm := public(rsaOne, "ps256")
	otherAlgorithm.Algorithm = "PS256"
	v := newKeyServer(t, public(rsaOne, "rsa"), public(ecOne, "ec"), public(weak, "weak"), public(large, "large"), encryption, otherAlgorithm,
		jose.JSONWebKey{Key: ecOne, KeyID: "private"}, jose.JSONWebKey{Key: []byte(hmacSecret), KeyID: "shared"}, public(other, "")).verifier(t)
	eventually(t, func() bool { return v.Ready(t.Context()) == nil })
	require.True(t, counts(v, byRS256(t, rsaOne, "rsa"))())
	require.True(t, counts(v, byES256(t, ecOne, "ec"))())
	der, err := x509.MarshalPKIXPublicKey(rsaOne.Public())
	require.NoError(t, err)
	pemKey := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	id := func(id string) map[string]any { return map[string]any{"kid": id} }
	tests := []struct {
		name, token string
		want        signin.Reason
	}{
		{name: "the public key as a secret", token: signed(t, jwt.SigningMethodHS256, pemKey, said(nil), id("rsa")), want: signin.BadAlgorithm},
		{name: "the modulus as a secret", token: signed(t, jwt.SigningMethodHS256, rsaOne.N.Bytes(), said(nil), id("rsa")),
			want: signin.BadAlgorithm},
		{name: "a shared key in the set", token: signed(t, jwt.SigningMethodHS256, []byte(hmacSecret), said(nil), id("shared")),
			want: signin.BadAlgorithm},
		{name: "none", token: signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, said(nil), id("rsa")),
			want: signin.BadAlgorithm},
		{name: "PS256 with an RSA key", token: signed(t, jwt.SigningMethodPS256, rsaOne, said(nil), id("rsa")), want: signin.BadAlgorithm},
		{name: "ES384", token: signed(t, jwt.SigningMethodES384, large, said(nil), id("large")), want: signin.BadAlgorithm},
		{name: "ES256 by the name of an RSA key", token: byES256(t, ecOne, "rsa"), want: signin.UnknownKey},
		{name: "RS256 by the name of an EC key", token: byRS256(t, rsaOne, "ec"), want: signin.UnknownKey},
		{name: "another key under a known name", token: byES256(t, other, "ec"), want: signin.BadSignature},
		{name: "an unknown key", token: byES256(t, ecOne, "unknown"), want: signin.UnknownKey},
		{name: "no name of a key", token: signed(t, jwt.SigningMethodES256, other, said(nil), nil), want: signin.UnknownKey},
		{name: "a name that is a number", token: signed(t, jwt.SigningMethodES256, ecOne, said(nil), map[string]any{"kid": 1}),
			want: signin.UnknownKey},
		{name: "a weak key", token: byRS256(t, weak, "weak"), want: signin.UnknownKey},
		{name: "a key for encryption", token: byRS256(t, rsaOne, "encryption"), want: signin.UnknownKey},
		{name: "a key for another algorithm", token: byRS256(t, rsaOne, "ps256"), want: signin.UnknownKey},
		{name: "a private key in the set", token: byES256(t, ecOne, "private"), want: signin.UnknownKey},
		{name: "a key in the token",
			token: signed(t, jwt.SigningMethodES256, other, said(nil), map[string]any{"kid": "ec", "jwk": public(other, "ec")}),
			want:  signin.BadSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			_, err := v.Verify(tt.token)

			require.Equal(t, tt.want, refusalOf(t, err).Reason)
		})
	}
}

// A key that the issuer adds works soon. A key that the issuer withdraws stops working, even the
// last key.
func TestKeysThatChange(t *testing.T) {
	t.Parallel()

	first, second := ecKey(t, elliptic.P256()), ecKey(t, elliptic.P256())
	issuer := newKeyServer(t, public(first, "first"))
	v := issuer.verifier(t)
	eventually(t, counts(v, byES256(t, first, "first")))
	require.True(t, refused(v, byES256(t, second, "second"))())

	issuer.publish(t, public(first, "first"), public(second, "second"))
	eventually(t, counts(v, byES256(t, second, "second")))
	require.True(t, counts(v, byES256(t, first, "first"))())

	issuer.publish(t, public(second, "second"))
	eventually(t, refused(v, byES256(t, first, "first")))

	issuer.publish(t, public(first, "second")) // another key with the name of a known key
	eventually(t, refused(v, byES256(t, second, "second")))

	issuer.publish(t)
	eventually(t, refused(v, byES256(t, first, "second")))
	require.ErrorContains(t, v.Ready(t.Context()), "AUTH_JWKS_URL has no key")
}

// If the issuer's answers are wrong, the known keys stay valid.
func TestKeysOfAnIssuerThatFails(t *testing.T) {
	t.Parallel()

	hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	tests := []struct {
		name   string
		answer func(http.ResponseWriter, *http.Request)
	}{
		{name: "an error", answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }},
		{name: "a page", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }},
		{name: "JSON of another kind", answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }},
		{name: "too much", answer: func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"keys":[],"more":"` + strings.Repeat("x", 2<<20) + `"}`))
		}},
		{name: "a redirect to clear text", answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}},
		{name: "nothing", answer: hang},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			key := ecKey(t, elliptic.P256())
			issuer := newKeyServer(t, public(key, "k"))
			v := issuer.verifier(t)
			token := byES256(t, key, "k")
			eventually(t, counts(v, token))
			issuer.answers(tt.answer)
			before := issuer.fetches.Load()
			eventually(t, func() bool { return issuer.fetches.Load() > before })

			begun := time.Now()
			for range 100 {
				require.True(t, counts(v, token)())
				require.True(t, refused(v, byES256(t, key, rand.Text()))())
			}
			require.Less(t, time.Since(begun), time.Minute, "no token waits for a fetch, which may take 5 s")
			require.NoError(t, v.Ready(t.Context()))
		})
	}
}

// Unknown keys cause no fetch, because forged tokens could cause many fetches.
func TestUnknownKeysFetchNothing(t *testing.T) {
	t.Parallel()

	key := ecKey(t, elliptic.P256())
	issuer := newKeyServer(t, public(key, "k"))
	v := signin.NewVerifierFor(signin.Settings{Issuer: "i", Audience: "a", JWKSURL: issuer.URL}, issuer.Client(), time.Hour)
	require.ErrorContains(t, v.Ready(t.Context()), "no keys were fetched yet")
	go v.Run(t.Context())
	eventually(t, func() bool { return v.Ready(t.Context()) == nil })

	for range 1000 {
		_, err := v.Verify(byES256(t, key, rand.Text()))
		require.Equal(t, signin.UnknownKey, refusalOf(t, err).Reason)
	}

	require.EqualValues(t, 1, issuer.fetches.Load())
}

// A fetch that hangs times out.
func TestFetchTimesOut(t *testing.T) {
	t.Parallel()

	key := ecKey(t, elliptic.P256())
	issuer := newKeyServer(t)
	var once sync.Once
	issuer.answers(func(w http.ResponseWriter, r *http.Request) {
		hung := false
		once.Do(func() { hung = true; <-r.Context().Done() })
		if !hung {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public(key, "k")}})
		}
	})
	begun := time.Now()
	v := issuer.verifier(t)

	eventually(t, counts(v, byES256(t, key, "k")))

	require.GreaterOrEqual(t, time.Since(begun), 4*time.Second, "the first fetch hung")
}
