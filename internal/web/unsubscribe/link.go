// Package unsubscribe makes the unsubscribe links in e-mails (RFC 8058), and serves the page behind
// these links.
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
	Category string // empty: all messages over the channel
	Channel  notification.Channel
}

// Links makes and verifies unsubscribe links. A link never expires, because people keep e-mails for
// years. Its holder can only unsubscribe its recipient.
type Links struct {
	PublicURL string // the gateway's URL for people; needed only to make links
	Key       []byte // for the purpose secret.Unsubscribe
	// PreviousKey verifies links made with the previous secret; nil if there is none.
	PreviousKey []byte
}

// version is the version of the token's form. Later versions must still accept version 1.
const version = "1"

// Over returns a function that makes the link of a message over channel.
func (l Links) Over(channel notification.Channel) func(notification.Message) string {
	return func(m notification.Message) string {
		who := notification.RecipientKey{UserType: m.UserType, UserID: m.UserID}
		return l.PublicURL + "/unsubscribe?token=" + l.token(Subscription{RecipientKey: who, Category: m.Category, Channel: channel})
	}
}

// token returns the encoded subscription and its signature.
func (l Links) token(s Subscription) string {
	named, _ := json.Marshal([]string{string(s.UserType), s.UserID, s.Category, string(s.Channel)}) // encoding strings never fails
	signed := version + "." + base64.RawURLEncoding.EncodeToString(named)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(l.Key, signed))
}

// read returns the subscription in a token. ok is false if l has not made the token.
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

// verify reports whether one of the keys has made the signature.
func (l Links) verify(text string, signature []byte) bool {
	return hmac.Equal(signature, sign(l.Key, text)) || l.PreviousKey != nil && hmac.Equal(signature, sign(l.PreviousKey, text))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}
