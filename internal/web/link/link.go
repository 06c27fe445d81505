// Package link makes the links of messages with which people unsubscribe (RFC 8058), choose what they
// get, and mute an entity. It serves the pages behind these links. Nobody needs to sign in: the link is
// enough.
package link

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"herald/internal/notification"
)

// Links makes and verifies links. A link never expires, because people keep e-mails for years. Its holder
// can only change what its recipient gets.
type Links struct {
	PublicURL string // the gateway's URL for people; needed only to make links
	Key       []byte // for the purpose secret.Unsubscribe
	// PreviousKey verifies links made with the previous secret; nil if there is none.
	PreviousKey []byte
}

// purpose is the page that a link opens. A link for one page is invalid for another.
type purpose string

const (
	unsubscribing purpose = "unsubscribe"
	choosing      purpose = "preferences"
	muting        purpose = "mute"
)

// claim is the content of a token.
type claim struct {
	notification.RecipientKey
	purpose  purpose
	channel  notification.Channel // of the message that has the link
	address  binding
	category string              // to unsubscribe from; empty: all messages over the channel
	entity   notification.Entity // to mute
	key      []byte              // that verified it; the salt comes from it
}

// binding recognizes the address that a link was sent to. The token contains the digest only. Nobody can
// find the address by guessing without the key, which the salt comes from.
type binding struct {
	salt   []byte
	digest []byte // digestSize bytes of SHA-256 of salt and address; empty: the channel has no address
}

const digestSize = 16

// The versions of tokens. Each later version must still accept the earlier ones, which are in sent mails.
// A token of version 1 has no address, and can only unsubscribe.
const (
	version1 = "1."
	version2 = "2."
)

// Unsubscribe returns a function that makes the unsubscribe link of a message over channel.
func (l Links) Unsubscribe(channel notification.Channel) func(notification.Message) string {
	return func(m notification.Message) string {
		who := notification.RecipientKey{UserType: m.UserType, UserID: m.UserID}
		return l.PublicURL + "/unsubscribe?token=" + l.token(claim{
			RecipientKey: who, purpose: unsubscribing, channel: channel, address: l.bind(who, channel, m.To), category: m.Category,
		})
	}
}

// Preferences returns the link of a message over channel to the choices of its recipient. Without an
// address, which WEBSOCKET and PUSH never have, it leads to the inbox.
func (l Links) Preferences(channel notification.Channel, to notification.Recipient) string {
	c := l.claimOf(choosing, channel, to)
	if c.address.digest == nil {
		return l.PublicURL + "/#preferences"
	}
	return l.PublicURL + "/preferences?token=" + l.token(c)
}

// Mute returns the link of a message over channel that mutes an entity for its recipient. It is empty for
// CUSTOMER, ADMIN and BROADCAST, for an entity that is the recipient, and without an address: the inbox has
// a button.
func (l Links) Mute(channel notification.Channel, to notification.Recipient, entity notification.Entity) string {
	c := l.claimOf(muting, channel, to)
	if c.entity = entity; c.address.digest == nil || !entity.CanBeMutedBy(c.RecipientKey) {
		return ""
	}
	return l.PublicURL + "/mute?token=" + l.token(c)
}

func (l Links) claimOf(p purpose, channel notification.Channel, to notification.Recipient) claim {
	who := notification.RecipientKey{UserType: to.UserType, UserID: to.UserID}
	return claim{RecipientKey: who, purpose: p, channel: channel, address: l.bind(who, channel, to.Address(channel))}
}

// bind returns the binding of an address, in the spelling of the directory.
func (l Links) bind(who notification.RecipientKey, channel notification.Channel, address string) binding {
	if address == "" || channel.AddressColumn() == "" {
		return binding{}
	}
	salt := saltOf(l.Key, who, channel)
	digest := sha256.Sum256(append(salt[:len(salt):len(salt)], address...))
	return binding{salt, digest[:digestSize]}
}

// saltOf returns a salt that nobody knows without the key. It differs between people, so that digests do
// not tell who has the same address.
func saltOf(key []byte, who notification.RecipientKey, channel notification.Channel) []byte {
	return sign(key, "address."+encode(string(who.UserType), who.UserID, string(channel)))
}

// token returns the encoded claim and its signature.
func (l Links) token(c claim) string {
	parts := []string{
		string(c.purpose), string(c.UserType), c.UserID, string(c.channel), base64.RawURLEncoding.EncodeToString(c.address.digest),
	}
	switch c.purpose {
	case unsubscribing:
		parts = append(parts, c.category)
	case muting:
		parts = append(parts, c.entity.Type, c.entity.ID)
	}
	signed := version2 + encode(parts...)
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(l.Key, signed))
}

// encode writes texts as JSON in base64url. HTML stays as it is: its escapes would make links too long for
// a header line.
func encode(parts ...string) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(parts) // encoding strings never fails
	return base64.RawURLEncoding.EncodeToString([]byte(strings.TrimSuffix(text.String(), "\n")))
}

// read returns the claim in a token. ok is false if l has not made the token, or for another purpose.
func (l Links) read(token string, p purpose) (c claim, ok bool) {
	end := strings.LastIndexByte(token, '.')
	if end < 0 {
		return c, false
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(token[end+1:])
	if err != nil {
		return c, false
	}
	for _, key := range [][]byte{l.Key, l.PreviousKey} {
		if key != nil && hmac.Equal(signature, sign(key, token[:end])) {
			c, ok = decode(token[:end], key)
			c.key = key
			return c, ok && c.purpose == p
		}
	}
	return c, false
}

// decode returns the claim in the signed part of a token.
func decode(signed string, key []byte) (c claim, ok bool) {
	if text, is := strings.CutPrefix(signed, version1); is {
		parts, ok := partsOf(text, 4)
		if !ok {
			return c, false
		}
		c = claim{purpose: unsubscribing, category: parts[2], channel: notification.Channel(parts[3])}
		c.UserType, c.UserID = notification.UserType(parts[0]), parts[1]
		return c, true
	}
	text, is := strings.CutPrefix(signed, version2)
	parts, ok := partsOf(text, 5, 6, 7)
	if !is || !ok {
		return c, false
	}
	c = claim{purpose: purpose(parts[0]), channel: notification.Channel(parts[3])}
	c.UserType, c.UserID = notification.UserType(parts[1]), parts[2]
	if digest, err := base64.RawURLEncoding.DecodeString(parts[4]); err == nil && len(digest) == digestSize {
		c.address = binding{saltOf(key, c.RecipientKey, c.channel), digest}
	}
	switch more := parts[5:]; {
	case c.purpose == unsubscribing && len(more) == 1:
		c.category = more[0]
	case c.purpose == choosing && len(more) == 0:
	case c.purpose == muting && len(more) == 2:
		c.entity = notification.Entity{Type: more[0], ID: more[1]}
	default:
		return c, false
	}
	return c, true
}

// partsOf decodes texts of encode. ok is false if their number is none of counts.
func partsOf(text string, counts ...int) (parts []string, ok bool) {
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	return parts, err == nil && json.Unmarshal(decoded, &parts) == nil && slices.Contains(counts, len(parts))
}

// preferences returns the token for the choices of a claim's recipient, under the claim's key. It is empty
// for a claim without an address.
func (c claim) preferences() string {
	if c.address.digest == nil {
		return ""
	}
	return Links{Key: c.key}.token(claim{RecipientKey: c.RecipientKey, purpose: choosing, channel: c.channel, address: c.address})
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // never fails
	return mac.Sum(nil)
}
