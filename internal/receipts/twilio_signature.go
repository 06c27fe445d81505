package receipts

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// twilioSignature is the header of a signed request.
// https://www.twilio.com/docs/usage/security
const twilioSignature = "X-Twilio-Signature"

// admitTwilio refuses a request by its header: without a token or a signature.
func (w *Webhooks) admitTwilio(header http.Header) error {
	switch {
	case w.TwilioToken == "" || w.PublicURL == "":
		return forbidden(noKey)
	case header.Get(twilioSignature) == "":
		return forbidden(unsigned)
	}
	return nil
}

// checkTwilio returns the fields of a request, and refuses a request that Twilio has not
// signed. Its signature has no time.
func (w *Webhooks) checkTwilio(r *http.Request, body []byte) (url.Values, error) {
	fields, err := url.ParseQuery(string(body))
	signature, address := r.Header.Get(twilioSignature), w.PublicURL+r.URL.RequestURI()
	if err != nil || !signedByTwilio(w.TwilioToken, signature, address, fields) &&
		(w.PreviousTwilioToken == "" || !signedByTwilio(w.PreviousTwilioToken, signature, address, fields)) {
		return nil, forbidden(forged)
	}
	return fields, nil
}

// signedByTwilio reports whether signature is Twilio's of a request to an address.
func signedByTwilio(token, signature, address string, fields url.Values) bool {
	for _, signed := range signedAddresses(address) {
		if hmac.Equal([]byte(signature), []byte(signTwilio(token, signed, fields))) {
			return true
		}
	}
	return false
}

// signedAddresses are the forms of an address that Twilio may have signed: it leaves out the
// port at times, and at times adds the usual one.
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

// signTwilio is Twilio's signature: in base64, HMAC-SHA1 over the address and, in the order
// of their names, each field's name and value. A field that is repeated counts with each of
// its different values, in their order.
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
