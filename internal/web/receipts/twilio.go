package receipts

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"herald/internal/notification"
)

// twilio receives the status of one text message. The callback URL that Herald sent with the
// message has the delivery id.
func (w *Webhooks) twilio(ctx context.Context, r *http.Request, body []byte) error {
	fields, err := w.checkTwilio(r, body)
	if err != nil {
		return err
	}
	delivery := r.URL.Query().Get("delivery_id")
	if delivery == "" {
		w.metrics.dropped(notification.Twilio, outcomeUnknown, 1)
		return nil
	}
	receipt, err := parseStatus(delivery, fields, w.now())
	if err != nil {
		w.metrics.dropped(notification.Twilio, outcomeMalformed, 1)
		return nil
	}
	return w.record(ctx, receipt)
}

// parseStatus reads the status of a message. Twilio sends no time, so the receipt's time is now.
// https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
func parseStatus(delivery string, fields url.Values, now time.Time) (notification.Receipt, error) {
	message, status := fields.Get("MessageSid"), fields.Get("MessageStatus")
	r := notification.Receipt{
		Provider: notification.Twilio, ID: message + "/" + status, DeliveryID: delivery, MessageID: message, At: now.UTC(), Word: status, Address: fields.Get("To"),
	}
	if message == "" || !storable(r) {
		return notification.Receipt{}, errMalformed
	}
	switch status {
	case "delivered", "read":
		r.Status = notification.Delivered
	case "undelivered", "failed":
		r.Status = notification.Failed
		r.Detail, r.Suppress = explain(fields.Get("ErrorCode"), twilioCodes)
	}
	return r, nil
}

// code is a provider's reason why a message did not arrive.
type code struct {
	meaning  string
	suppress notification.SuppressionReason // empty if later messages may arrive
}

// twilioCodes holds the error codes in receipts. Errors of phones, filters and networks do not
// suppress the number.
// https://www.twilio.com/docs/api/errors
var twilioCodes = map[string]code{
	"21211": {"it is no phone number", notification.SuppressedInvalid},
	"21610": {"its owner answered STOP", notification.SuppressedOptOut},
	"21614": {"it is not a mobile number", notification.SuppressedInvalid},
	"30001": {meaning: "too many messages waited at Twilio"},
	"30002": {meaning: "our account is suspended"},
	"30003": {meaning: "the phone is off or out of reach"},
	"30004": {meaning: "the number does not take messages from us"},
	"30005": {"the number is unknown or not in use any more", notification.SuppressedInvalid},
	"30006": {"the number is a landline, or its network takes no messages", notification.SuppressedInvalid},
	"30007": {meaning: "it was filtered as unwanted"},
	"30008": {meaning: "the network gives no reason"},
	"30034": {meaning: "our number is not registered for such messages"},
}

var codeForm = regexp.MustCompile(`^[0-9]{1,6}$`)

// explain returns the meaning of an error, and the reason to suppress the number, if any.
func explain(number string, codes map[string]code) (detail string, suppress notification.SuppressionReason) {
	if !codeForm.MatchString(number) {
		return "", ""
	}
	known, ok := codes[number]
	if !ok {
		return "error " + number, ""
	}
	return "error " + number + ": " + known.meaning, known.suppress
}

// twilioSignature is the header of a signed request.
// https://www.twilio.com/docs/usage/security
const twilioSignature = "X-Twilio-Signature"

// admitTwilio refuses a request by its headers: if Herald has no token, or without a signature.
func (w *Webhooks) admitTwilio(header http.Header) error {
	switch {
	case w.TwilioToken == "" || w.PublicURL == "":
		return forbidden(noKey)
	case header.Get(twilioSignature) == "":
		return forbidden(unsigned)
	}
	return nil
}

// checkTwilio returns the fields of a request, and refuses a request that Twilio has not signed.
// Twilio's signatures have no time, so they never expire.
func (w *Webhooks) checkTwilio(r *http.Request, body []byte) (url.Values, error) {
	fields, err := url.ParseQuery(string(body))
	signature, address := r.Header.Get(twilioSignature), w.PublicURL+r.URL.RequestURI()
	if err != nil || !signedByTwilio(w.TwilioToken, signature, address, fields) &&
		(w.PreviousTwilioToken == "" || !signedByTwilio(w.PreviousTwilioToken, signature, address, fields)) {
		return nil, forbidden(forged)
	}
	return fields, nil
}

// signedByTwilio reports whether Twilio has made the signature of a request to an address.
func signedByTwilio(token, signature, address string, fields url.Values) bool {
	for _, signed := range signedAddresses(address) {
		if hmac.Equal([]byte(signature), []byte(signTwilio(token, signed, fields))) {
			return true
		}
	}
	return false
}

// signedAddresses returns the forms of an address that Twilio may have signed: Twilio sometimes
// omits the port, and sometimes adds the default port.
func signedAddresses(address string) []string {
	scheme, rest, _ := strings.Cut(address, "://")
	end := len(rest)
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		end = i
	}
	host, path := rest[:end], rest[end:]
	port := (&url.URL{Host: host}).Port()
	host = strings.TrimSuffix(host, ":"+port)
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return []string{scheme + "://" + host + path, scheme + "://" + host + ":" + port + path}
}

// signTwilio returns Twilio's signature: HMAC-SHA1, in base64, over the address and each field's
// name and value, sorted by name. A repeated field counts once for each different value, sorted.
func signTwilio(token, address string, fields url.Values) string {
	hash := hmac.New(sha1.New, []byte(token))
	_, _ = io.WriteString(hash, address)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		values := slices.Clone(fields[name])
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			_, _ = io.WriteString(hash, name+value)
		}
	}
	return base64.StdEncoding.EncodeToString(hash.Sum(nil))
}
