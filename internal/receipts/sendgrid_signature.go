package receipts

import (
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"time"
)

// The headers of a signed request.
// https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/getting-started-event-webhook-security-features
const (
	sendgridSignature = "X-Twilio-Email-Event-Webhook-Signature"
	sendgridTimestamp = "X-Twilio-Email-Event-Webhook-Timestamp" // seconds since 1970
)

// freshness is the age from which a signed request does not count: anybody who caught it could
// send it for ever. SendGrid repeats a request for 24 hours.
const freshness = 25 * time.Hour

// admitSendGrid refuses a request by its header: without a key or a signature, or signed too
// long ago.
func (w *Webhooks) admitSendGrid(header http.Header) error {
	timestamp := header.Get(sendgridTimestamp)
	switch {
	case w.SendGridKey == nil:
		return forbidden(noKey)
	case header.Get(sendgridSignature) == "" || timestamp == "":
		return forbidden(unsigned)
	}
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || w.now().Sub(time.Unix(seconds, 0)) > freshness {
		return forbidden(stale)
	}
	return nil
}

// checkSendGrid refuses a body that SendGrid has not signed.
func (w *Webhooks) checkSendGrid(header http.Header, body []byte) error {
	signature, timestamp := header.Get(sendgridSignature), header.Get(sendgridTimestamp)
	if signedBySendGrid(w.SendGridKey, signature, timestamp, body) ||
		w.PreviousSendGridKey != nil && signedBySendGrid(w.PreviousSendGridKey, signature, timestamp, body) {
		return nil
	}
	return forbidden(forged)
}

// signedBySendGrid reports whether signature is SendGrid's of a request: in base64, ECDSA with
// SHA-256 over the timestamp and the body, byte for byte.
func signedBySendGrid(key *ecdsa.PublicKey, signature, timestamp string, body []byte) bool {
	raw, err := base64.StdEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	hash := sha256.New()
	hash.Write([]byte(timestamp))
	hash.Write(body)
	return ecdsa.VerifyASN1(key, hash.Sum(nil), raw)
}
