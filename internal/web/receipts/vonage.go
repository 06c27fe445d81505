package receipts

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"herald/internal/notification"
)

// vonage receives the status of one text message, whose reference is the delivery id.
func (w *Webhooks) vonage(ctx context.Context, r *http.Request, body []byte) error {
	fields, err := w.checkVonage(r.Header, body)
	if err != nil {
		return err
	}
	if fields["client-ref"] == "" {
		w.metrics.dropped(notification.Vonage, outcomeUnknown, 1)
		return nil
	}
	receipt, err := parseReport(fields, w.now())
	if err != nil {
		w.metrics.dropped(notification.Vonage, outcomeMalformed, 1)
		return nil
	}
	return w.record(ctx, receipt)
}

// parseReport reads a delivery receipt. Its only time is the mobile network's, which may be wrong, so
// the receipt's time is now.
// https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts
func parseReport(fields map[string]string, now time.Time) (notification.Receipt, error) {
	message, status := fields["messageId"], fields["status"]
	r := notification.Receipt{
		Provider: notification.Vonage, ID: message + "/" + status, DeliveryID: fields["client-ref"], MessageID: message, At: now.UTC(), Word: status, Address: "+" + fields["msisdn"],
	}
	if message == "" || !storable(r) {
		return notification.Receipt{}, errMalformed
	}
	switch status {
	case "delivered":
		r.Status = notification.Delivered
	case "expired", "failed", "rejected":
		r.Status = notification.Failed
		r.Detail, r.Suppress = explain(fields["err-code"], vonageCodes)
	}
	return r, nil
}

// vonageCodes holds the error codes in receipts.
// https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts
var vonageCodes = map[string]code{
	"1":  {meaning: "the network gives no reason"},
	"2":  {meaning: "the phone is off or out of reach"},
	"3":  {"the number is not in use any more", notification.SuppressedInvalid},
	"4":  {meaning: "its owner bars such messages"},
	"5":  {meaning: "the number moves to another network"},
	"6":  {meaning: "it was filtered as unwanted"},
	"7":  {meaning: "the phone was busy"},
	"8":  {meaning: "the network failed"},
	"9":  {"the number gets no messages", notification.SuppressedInvalid},
	"10": {meaning: "the network refuses the text"},
	"11": {meaning: "no route leads to the number"},
	"12": {meaning: "the network could not be reached"},
	"14": {meaning: "the network blocks it"},
	"15": {meaning: "our account has no credit"},
}

// admitVonage refuses all requests if Herald has no signature secret.
func (w *Webhooks) admitVonage(http.Header) error {
	if w.VonageSecret == "" {
		return forbidden(noKey)
	}
	return nil
}

// checkVonage returns the fields of a request, and refuses a request that Vonage has not signed, or
// signed long ago.
func (w *Webhooks) checkVonage(header http.Header, body []byte) (map[string]string, error) {
	fields, err := readFields(header, body)
	switch {
	case err != nil:
		return nil, forbidden(forged)
	case fields["sig"] == "" || fields["timestamp"] == "":
		return nil, forbidden(unsigned)
	case !signedByVonage(w.VonageSecret, fields) && (w.PreviousVonageSecret == "" || !signedByVonage(w.PreviousVonageSecret, fields)):
		return nil, forbidden(forged)
	}
	seconds, err := strconv.ParseInt(fields["timestamp"], 10, 64)
	if err != nil || w.now().Sub(time.Unix(seconds, 0)) > freshness {
		return nil, forbidden(stale)
	}
	return fields, nil
}

// readFields reads a form, or an object of strings. The account's settings choose.
func readFields(header http.Header, body []byte) (map[string]string, error) {
	fields := map[string]string{}
	if kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")); kind == "application/json" {
		return fields, json.Unmarshal(body, &fields)
	}
	form, err := url.ParseQuery(string(body))
	for name := range form {
		fields[name] = form.Get(name)
	}
	return fields, err
}

// signedByVonage reports whether Vonage has made the signature in the field sig: HMAC-SHA256, in
// hexadecimal digits, over &name=value of all other fields, sorted by name. In values, & and = are _.
// https://developer.vonage.com/en/getting-started/concepts/signing-messages
func signedByVonage(secret string, fields map[string]string) bool {
	hash := hmac.New(sha256.New, []byte(secret))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sig" {
			_, _ = io.WriteString(hash, "&"+name+"="+strings.NewReplacer("&", "_", "=", "_").Replace(fields[name]))
		}
	}
	signature, err := hex.DecodeString(fields["sig"])
	return err == nil && hmac.Equal(signature, hash.Sum(nil))
}
