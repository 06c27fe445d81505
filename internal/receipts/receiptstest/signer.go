// Package receiptstest signs requests as providers do, for tests.
package receiptstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"herald/tools/sandbox"
)

// Signer signs with the providers' keys of one installation.
type Signer struct {
	SendGridKey  *ecdsa.PrivateKey
	TwilioToken  string
	VonageSecret string
	PublicURL    string // the gateway's URL, as configured at Twilio
}

// New returns a signer with new keys.
func New(publicURL string) Signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return Signer{SendGridKey: key, TwilioToken: rand.Text(), VonageSecret: rand.Text(), PublicURL: publicURL}
}

// Settings returns a gateway's settings that verify the signatures.
func (s Signer) Settings() map[string]string {
	return map[string]string{
		"PUBLIC_URL": s.PublicURL, "SENDGRID_WEBHOOK_PUBLIC_KEY": s.PublicKey(), "TWILIO_AUTH_TOKEN": s.TwilioToken,
		"VONAGE_SIGNATURE_SECRET": s.VonageSecret,
	}
}

// PublicKey returns the key as SendGrid shows it, for SENDGRID_WEBHOOK_PUBLIC_KEY.
func (s Signer) PublicKey() string {
	der, err := x509.MarshalPKIXPublicKey(s.SendGridKey.Public())
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(der)
}

// SendGrid returns the header of a batch signed at the time `at`.
func (s Signer) SendGrid(at time.Time, body string) http.Header {
	stamp, signature, err := sandbox.SignSendGrid(s.SendGridKey, at, []byte(body))
	if err != nil {
		panic(err)
	}
	return http.Header{
		"Content-Type":                           {"application/json"},
		"X-Twilio-Email-Event-Webhook-Timestamp": {stamp},
		"X-Twilio-Email-Event-Webhook-Signature": {signature},
	}
}

// Twilio returns the header of a signed request to a path, which may have a query.
func (s Signer) Twilio(path string, fields url.Values) http.Header {
	return http.Header{
		"Content-Type":       {"application/x-www-form-urlencoded"},
		"X-Twilio-Signature": {sandbox.SignTwilio(s.TwilioToken, s.PublicURL+path, fields)},
	}
}

// Vonage returns the body of a receipt signed at the time `at`. It adds to fields.
func (s Signer) Vonage(at time.Time, fields map[string]string) string {
	sandbox.SignVonage(s.VonageSecret, at, fields)
	body, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return string(body)
}
