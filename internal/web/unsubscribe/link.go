// Package unsubscribe is where people unsubscribe: the links that mails carry, as RFC 8058 has
// them, and the page behind these links.
package unsubscribe

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"strings"

	"herald/internal/notification"
)

// Subscription is the subscription that a link ends.
type Subscription struct {
	notification.RecipientKey
	Category string // empty: all that comes over the channel
	Channel  notification.Channel
}

// Links makes links to unsubscribe by, and reads them. A link never expires: mails are kept
// for years. Its holder can unsubscribe its recipient, and nothing else.
type Links struct {
	PublicURL string // where people reach the gateway; only what makes links needs it
	Key       []byte // of secret.Unsubscribe
	// PreviousKey verifies links that were made with the previous secret; nil: none.
	PreviousKey []byte
}

// version is the form of a token. A later form gets another one, and this one stays known.
const version = "1"

// Over returns the function that makes the link of a message over a channel.
func (l Links) Over(channel notification.Channel) func(notification.Message) string {
	return func(m notification.Message) string {
		who := notification.RecipientKey{UserType: m.UserType, UserID: m.UserID}
		return l.PublicURL + "/unsubscribe?token=" + l.token(Subscription{RecipientKey: who, Category: m.Category, Channel: channel})
	}
}

// token is the subscription, and its signature.
func (l Links) token(s Subscription) string {
	named, _ := json.Marshal([]string{string(s.UserType), s.UserID, s.Category, string(s.Channel)}) // texts always can be
	signed := version + "." + base64.RawURLEncoding.EncodeToString(named)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(l.Key, signed))
}

// read returns what a token names; not ok: it is none that these links have made.
func (l Links) read(token string) (s Subscription, ok bool) {
	end := strings.LastIndexByte(token, '.')
	if end < 0 {
		return s, false
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(token[end+1:])
	if err != nil || !l.verify(token[:end], signature) {
		return s, false
	}
	text, known := strings.CutPrefix(token[:end], version+".")
	named, err := base64.RawURLEncoding.DecodeString(text)
	var parts []string
	if !known || err != nil || json.Unmarshal(named, &parts) != nil || len(parts) != 4 {
		return s, false
	}
	s = Subscription{
		RecipientKey: notification.RecipientKey{UserType: notification.UserType(parts[0]), UserID: parts[1]},
		Category:     parts[2], Channel: notification.Channel(parts[3]),
	}
	return s, true
}

// verify reports whether a signature is of one of the keys.
func (l Links) verify(text string, signature []byte) bool {
	return hmac.Equal(signature, sign(l.Key, text)) || l.PreviousKey != nil && hmac.Equal(signature, sign(l.PreviousKey, text))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // it never fails
	return mac.Sum(nil)
}
