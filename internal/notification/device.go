package notification

import (
	"bytes"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
)

// The errors of a change of a recipient's devices.
var (
	ErrNoDevice       = errors.New("the recipient has no such device")
	ErrForeignDevices = errors.New("recipient_device is a view: devices are registered with the system behind it")
)

// DeviceKind is the kind of a device's token. It is the name of the provider that reaches the
// device.
type DeviceKind string

// The kinds of recipient_device.token.
const (
	FCMDevice     DeviceKind = "fcm"     // a registration token of Firebase Cloud Messaging
	WebPushDevice DeviceKind = "webpush" // a [Subscription]
)

// KindOf returns the kind of a token. Only a subscription is a JSON object.
func KindOf(token string) DeviceKind {
	if strings.HasPrefix(token, "{") {
		return WebPushDevice
	}
	return FCMDevice
}

// Subscription is the PushSubscription of a browser. It is secret, because it allows others to
// send to the browser.
type Subscription struct {
	Endpoint string `json:"endpoint"` // URL of the browser's push service
	Keys     struct {
		P256dh string `json:"p256dh"` // the browser's public key
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// ErrNoSubscription means that a token is not a valid subscription.
var ErrNoSubscription = errors.New("not a subscription: it needs an https endpoint, and the keys p256dh and auth in base64url, as the " +
	"browser gives them")

// authSize is the size of a subscription's secret in bytes. https://www.rfc-editor.org/rfc/rfc8291#section-3.2
const authSize = 16

// ParseSubscription reads a token of the kind [WebPushDevice]. It ignores unknown members. Plain http
// is only for push services on this machine, as in tests.
func ParseSubscription(token string) (Subscription, error) {
	var s Subscription
	if json.Unmarshal([]byte(token), &s) != nil {
		return Subscription{}, ErrNoSubscription
	}
	endpoint, err := url.Parse(s.Endpoint)
	if err != nil || endpoint.Hostname() == "" || endpoint.User != nil || !isSafe(endpoint) {
		return Subscription{}, ErrNoSubscription
	}
	key, err := base64.RawURLEncoding.DecodeString(s.Keys.P256dh)
	if err != nil {
		return Subscription{}, ErrNoSubscription
	}
	auth, err := base64.RawURLEncoding.DecodeString(s.Keys.Auth)
	if _, invalid := ecdh.P256().NewPublicKey(key); err != nil || invalid != nil || len(auth) != authSize {
		return Subscription{}, ErrNoSubscription
	}
	return s, nil
}

func isSafe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u)
}

// Token encodes the subscription as a token. Equal subscriptions have equal tokens.
func (s Subscription) Token() string {
	var token bytes.Buffer
	encoder := json.NewEncoder(&token)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // three strings
	return strings.TrimSpace(token.String())
}
