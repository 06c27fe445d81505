package webhook

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"herald/internal/config/environment"
)

// Keys sign messages. The present key is the first.
type Keys []*standardwebhooks.Webhook

// The length of a key, in bytes, as Standard Webhooks recommends.
const (
	minKey = 24
	maxKey = 64
)

// NewKeys reads secrets, except empty ones. The error does not quote them.
func NewKeys(secrets ...environment.Secret) (keys Keys, err error) {
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		encoded, found := strings.CutPrefix(string(secret), "whsec_")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if !found || err != nil || len(raw) < minKey || len(raw) > maxKey {
			return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64: make it with `echo whsec_$(openssl rand -base64 32)`")
		}
		key, err := standardwebhooks.NewWebhookRaw(raw)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// Header returns the header of Standard Webhooks, with one signature for each key. Receivers accept any
// of them.
func (k Keys) Header(id string, body []byte) http.Header {
	now := time.Now()
	signatures := make([]string, len(k))
	for i, key := range k {
		signatures[i], _ = key.Sign(id, now, body) // never fails
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"Herald"}}
	header.Set(standardwebhooks.HeaderWebhookID, id)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header
}
