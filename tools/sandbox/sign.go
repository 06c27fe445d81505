package sandbox

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // Twilio signs with SHA-1
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SignTwilio returns the signature of a request to a URL: over the URL and the form's fields, sorted
// by name.
// https://www.twilio.com/docs/usage/webhooks/webhooks-security
func SignTwilio(token, to string, form url.Values) string {
	mac := hmac.New(sha1.New, []byte(token))
	_, _ = io.WriteString(mac, to) // a hash takes everything
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range slices.Sorted(slices.Values(form[name])) {
			_, _ = io.WriteString(mac, name+value)
		}
	}
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// SignSendGrid returns the time and the signature of a batch of events.
func SignSendGrid(key *ecdsa.PrivateKey, at time.Time, body []byte) (stamp, signature string, err error) {
	stamp = strconv.FormatInt(at.Unix(), 10)
	digest := sha256.Sum256(append([]byte(stamp), body...))
	signed, err := ecdsa.SignASN1(rand.Reader, key, digest[:])
	return stamp, base64.StdEncoding.EncodeToString(signed), err
}

// SignVonage adds the time and the signature to a receipt.
func SignVonage(secret string, at time.Time, fields map[string]string) {
	fields["timestamp"] = strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(secret))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		_, _ = io.WriteString(mac, "&"+name+"="+strings.NewReplacer("&", "_", "=", "_").Replace(fields[name]))
	}
	fields["sig"] = hex.EncodeToString(mac.Sum(nil))
}
