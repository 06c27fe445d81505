package signin

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"
)

const (
	// fetchInterval is the time between two fetches. A new key works within 60 s, even if one
	// fetch fails. Tokens never cause a fetch, so nobody can cause many.
	fetchInterval = 20 * time.Second
	fetchTimeout  = 5 * time.Second
	// keysLast is the time for which fetched keys are valid if later fetches fail.
	keysLast = 24 * time.Hour
	// maxKeys and maxKeyBytes limit an issuer's answer.
	maxKeys     = 100
	maxKeyBytes = 1 << 20
	// minRSABits is the minimum of RFC 7518. Verifying with more than maxRSABits takes too long.
	minRSABits, maxRSABits = 2048, 8192
	// logInterval is the minimum time between two log lines about keys.
	logInterval = time.Minute
)

// keySet holds the keys of an issuer. The keys of the last fetch verify tokens. Verification never
// waits for a fetch.
type keySet struct {
	url    string
	client *http.Client
	every  time.Duration           // time between two fetches
	now    atomic.Pointer[fetched] // nil before the first fetch
	said   rate.Sometimes
}

// keyName identifies a key. It includes the algorithm, so a key works only with its algorithm.
type keyName struct{ algorithm, id string }

type fetched struct {
	at   time.Time
	keys map[keyName]any
}

func newKeySet(url string) *keySet {
	return &keySet{
		url: url, every: fetchInterval, said: rate.Sometimes{Interval: logInterval},
		client: &http.Client{Timeout: fetchTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return errRedirected }},
	}
}

var errRedirected = errors.New("it redirects: set the address that it redirects to")

// run fetches the keys until ctx ends.
func (s *keySet) run(ctx context.Context) {
	for tick := time.NewTicker(s.every); ; {
		if err := s.fetch(ctx); err != nil && ctx.Err() == nil {
			s.said.Do(func() {
				slog.Warn("the keys of AUTH_JWKS_URL cannot be fetched; the known keys stay valid for now", "error", err)
			})
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (s *keySet) fetch(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
	if err != nil {
		return err
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %d", answer.StatusCode)
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, answer.Body, maxKeyBytes))
	if err != nil {
		return err
	}
	keys, err := parseKeys(body)
	if err != nil {
		return err
	}
	s.now.Store(&fetched{at: time.Now(), keys: keys})
	return nil
}

// parseKeys returns the keys that can verify tokens, and ignores other keys. The result may be
// empty: an issuer can withdraw all keys.
func parseKeys(body []byte) (map[keyName]any, error) {
	var document struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(body, &document); err != nil || document.Keys == nil {
		return nil, errors.New("the answer is not a JSON Web Key Set")
	}
	keys := map[keyName]any{}
	for _, raw := range document.Keys[:min(len(document.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) != nil || key.KeyID == "" || key.Use != "" && key.Use != "sig" {
			continue
		}
		if algorithm := algorithmOf(key.Key); algorithm != "" && (key.Algorithm == "" || key.Algorithm == algorithm) {
			keys[keyName{algorithm, key.KeyID}] = key.Key
		}
	}
	return keys, nil
}

// algorithmOf returns the algorithm of a key, or "" if Herald does not use the algorithm or the key
// is private or weak.
func algorithmOf(key any) string {
	switch key := key.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); minRSABits <= bits && bits <= maxRSABits {
			return jwt.SigningMethodRS256.Name
		}
	case *ecdsa.PublicKey:
		if key.Curve == elliptic.P256() {
			return jwt.SigningMethodES256.Name
		}
	}
	return ""
}

func (s *keySet) find(algorithm, id string) (key any, ok bool) {
	if s.ready() != nil {
		return nil, false
	}
	key, ok = s.now.Load().keys[keyName{algorithm, id}]
	return key, ok
}

// ready returns nil if there are valid keys.
func (s *keySet) ready() error {
	now := s.now.Load()
	switch {
	case now == nil:
		return errors.New("no keys were fetched yet")
	case time.Since(now.at) > keysLast:
		return fmt.Errorf("no keys were fetched since %s", now.at.UTC().Format(time.RFC3339))
	case len(now.keys) == 0:
		return errors.New("AUTH_JWKS_URL has no key with a `kid` for RS256 or ES256")
	}
	return nil
}
