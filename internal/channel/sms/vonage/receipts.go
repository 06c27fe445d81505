package vonage

import (
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
	"strings"
	"time"

	"herald/internal/channel"
	"herald/internal/channel/sms"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

// Receipts holds the secrets that sign Vonage's receipts.
type Receipts struct {
	Secret   environment.Secret `env:"VONAGE_SIGNATURE_SECRET"` // empty: all requests are refused
	Previous environment.Secret `env:"VONAGE_SIGNATURE_SECRET_PREVIOUS"`
	BaseURL  string             `env:"VONAGE_BASE_URL" envDefault:"https://rest.nexmo.com"`

	secrets []environment.Secret
}

// Read reads and checks the settings.
func (s *Receipts) Read(r *environment.Reader) {
	r.Read("", s)
	s.secrets = r.Keys("VONAGE_SIGNATURE_SECRET", s.Secret, s.Previous, func(setting string, secret environment.Secret) {
		r.Match(setting, string(secret), environment.Token, "must be visible ASCII, without spaces")
		r.Credential(setting, secret, s.BaseURL)
	})
}

// Receivers returns the receivers of delivery receipts and of text messages to our number.
func (s *Receipts) Receivers(string) []channel.Receiver {
	return []channel.Receiver{
		{Path: callbackPath, BodyLimit: sms.BodyLimit, Admit: s.admit, Read: s.read},
		{Path: callbackPath + "/inbound", BodyLimit: sms.BodyLimit, Admit: s.admit, Read: s.readInbound, Reply: taken},
	}
}

// admit refuses all requests if Herald has no secret. Only bodies have signatures.
func (s *Receipts) admit(http.Header) error {
	if len(s.secrets) == 0 {
		return channel.NoKey
	}
	return nil
}

// read reads the status of one message, whose reference is the delivery id. Its only time is the
// mobile network's, which may be wrong.
// https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts
func (s *Receipts) read(r *http.Request, body []byte) (received channel.Received, err error) {
	fields, err := s.verified(r.Header, body)
	if err != nil {
		return received, err
	}
	receipt := sms.Report(fields["client-ref"], fields["messageId"], fields["status"], "+"+fields["msisdn"])
	switch receipt.Word {
	case "delivered":
		receipt.Status = notification.Delivered
	case "expired", "failed", "rejected":
		receipt.Status = notification.Failed
		receipt.Detail, receipt.Suppress = sms.Explain(fields["err-code"], codes)
		receipt.Harm = codes[fields["err-code"]].Harm
	}
	received.Add(receipt)
	return received, nil
}

// codes holds the error codes in receipts.
// https://developer.vonage.com/en/messaging/sms/guides/delivery-receipts
var codes = map[string]sms.Code{
	"1":  {Meaning: "the network gives no reason"},
	"2":  {Meaning: "the phone is off or out of reach"},
	"3":  {Meaning: "the number is not in use any more", Suppress: notification.SuppressedInvalid},
	"4":  {Meaning: "its owner bars such messages"},
	"5":  {Meaning: "the number moves to another network"},
	"6":  {Meaning: "it was filtered as unwanted", Harm: notification.HarmBlock},
	"7":  {Meaning: "the phone was busy"},
	"8":  {Meaning: "the network failed"},
	"9":  {Meaning: "the number gets no messages", Suppress: notification.SuppressedInvalid},
	"10": {Meaning: "the network refuses the text"},
	"11": {Meaning: "no route leads to the number"},
	"12": {Meaning: "the network could not be reached"},
	"14": {Meaning: "the network blocks it", Harm: notification.HarmBlock},
	"15": {Meaning: "our account has no credit"},
}

// inboundTime is the form of message-timestamp, in UTC.
const inboundTime = "2006-01-02 15:04:05"

// readInbound reads a text message to our number. Only STOP and START words change anything.
// https://developer.vonage.com/en/messaging/sms/guides/inbound-sms
func (s *Receipts) readInbound(r *http.Request, body []byte) (received channel.Received, err error) {
	fields, err := s.verified(r.Header, body)
	if err != nil {
		return received, err
	}
	if lifted, ok := sms.Answered(fields["text"]); ok {
		at, _ := time.Parse(inboundTime, fields["message-timestamp"]) // zero: now
		received.AddOptOut(notification.OptOut{MessageID: fields["messageId"], Number: "+" + fields["msisdn"], Lifted: lifted, At: at})
	}
	return received, nil
}

// taken answers 200: Vonage sends a text message again after any other status.
func taken(to http.ResponseWriter, _ *http.Request) { to.WriteHeader(http.StatusOK) }

// verified returns the fields of a request, and refuses a request that Vonage has not signed, or
// signed long ago.
func (s *Receipts) verified(header http.Header, body []byte) (map[string]string, error) {
	fields, err := readFields(header, body)
	switch {
	case err != nil:
		return nil, channel.Forged
	case fields["sig"] == "" || fields["timestamp"] == "":
		return nil, channel.Unsigned
	case !slices.ContainsFunc(s.secrets, func(secret environment.Secret) bool { return isSigned(string(secret), fields) }):
		return nil, channel.Forged
	}
	return fields, channel.CheckAge(fields["timestamp"])
}

// readFields reads a form, or a JSON object of strings. The account's settings decide which one Vonage
// sends.
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

// isSigned reports whether Vonage has made the signature in the field sig: HMAC-SHA256, in
// hexadecimal digits, over &name=value of all other fields, sorted by name. In values, & and = are _.
// https://developer.vonage.com/en/getting-started/concepts/signing-messages
func isSigned(secret string, fields map[string]string) bool {
	hash := hmac.New(sha256.New, []byte(secret))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "sig" {
			_, _ = io.WriteString(hash, "&"+name+"="+strings.NewReplacer("&", "_", "=", "_").Replace(fields[name]))
		}
	}
	signature, err := hex.DecodeString(fields["sig"])
	return err == nil && hmac.Equal(signature, hash.Sum(nil))
}
