package sandbox

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"herald/internal/notification"
)

var webPush = provider{
	name: "Web Push", channel: notification.Push, fault: "WEBPUSH", route: "POST /push/{id}", handle: handleWebPush, reject: rejectWebPush,
}

// Subscription returns the token of a browser that has subscribed at the sandbox's address. The keys
// follow from the id, so that the sandbox can read the messages. If the id begins with dead or none, the
// subscription has ended.
func Subscription(address, id string) string {
	private, auth := browserKeys(id)
	subscription := notification.Subscription{Endpoint: address + "/push/" + id}
	subscription.Keys.P256dh = base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())
	subscription.Keys.Auth = base64.RawURLEncoding.EncodeToString(auth)
	return subscription.Token()
}

func browserKeys(id string) (private *ecdh.PrivateKey, auth []byte) {
	scalar, secret := sha256.Sum256([]byte("key of "+id)), sha256.Sum256([]byte("secret of "+id))
	scalar[0] = 0 // so that it is below the order of the curve
	private, err := ecdh.P256().NewPrivateKey(scalar[:])
	if err != nil {
		panic(err) // the scalar is valid
	}
	return private, secret[:16]
}

var (
	topicForm   = regexp.MustCompile(`^[A-Za-z0-9_-]{0,32}$`)
	urgencyForm = regexp.MustCompile(`^(very-low|low|normal|high)?$`)
)

const maxRecord = 4096 // bytes of an encrypted message; every push service takes this

// handleWebPush answers POST /push/{id} like a browser's push service. It also is the browser, and
// refuses a message that the browser cannot read.
// https://www.rfc-editor.org/rfc/rfc8030
func handleWebPush(r *http.Request, body []byte, _ bool) (Entry, response) {
	id := r.PathValue("id")
	entry := Entry{Recipient: r.URL.Path, CollapseKey: r.Header.Get("Topic")}
	text, err := Decrypt(id, body)
	var content struct {
		DeliveryID string `json:"delivery_id"`
		Title      string `json:"title"`
		Body       string `json:"body"`
	}
	readable := err == nil && json.Unmarshal(text, &content) == nil
	entry.DeliveryID, entry.Title, entry.Body = content.DeliveryID, content.Title, content.Body
	ttl, ttlErr := strconv.Atoi(r.Header.Get("TTL"))
	switch {
	case !isVAPID(r):
		return entry, rejectWebPush(http.StatusForbidden)
	case strings.HasPrefix(id, "dead"):
		return entry, rejectWebPush(http.StatusGone)
	case strings.HasPrefix(id, "none"):
		return entry, rejectWebPush(http.StatusNotFound)
	case len(body) > maxRecord:
		return entry, rejectWebPush(http.StatusRequestEntityTooLarge)
	case r.Header.Get("Content-Encoding") != "aes128gcm":
		return entry, rejectWebPush(http.StatusUnsupportedMediaType)
	case ttlErr != nil || ttl < 0 || !topicForm.MatchString(entry.CollapseKey) || !urgencyForm.MatchString(r.Header.Get("Urgency")) ||
		!readable:
		return entry, rejectWebPush(http.StatusBadRequest)
	}
	return entry, response{status: http.StatusCreated, header: map[string]string{"Location": "http://" + r.Host + "/message/" + rand.Text()}}
}

func rejectWebPush(status int) response { return replyText(status, http.StatusText(status)) }

// isVAPID reports whether the sender proves that it owns the key in the request.
// https://www.rfc-editor.org/rfc/rfc8292
func isVAPID(r *http.Request) bool {
	fields, ok := strings.CutPrefix(r.Header.Get("Authorization"), "vapid ")
	token, key, both := strings.Cut(fields, ",")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(strings.TrimSpace(key), "k="))
	if !ok || !both || err != nil {
		return false
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return false
	}
	claims := jwt.RegisteredClaims{}
	_, err = jwt.ParseWithClaims(strings.TrimPrefix(token, "t="), &claims, func(*jwt.Token) (any, error) { return public, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithAudience("http://"+r.Host), jwt.WithExpirationRequired())
	isContact := strings.HasPrefix(claims.Subject, "mailto:") || strings.HasPrefix(claims.Subject, "https:")
	return err == nil && isContact && time.Until(claims.ExpiresAt.Time) <= 24*time.Hour
}

var errUnreadable = errors.New("the browser cannot read the message")

// Decrypt returns the text of a message to the browser with an id.
// https://www.rfc-editor.org/rfc/rfc8291#section-3.4
func Decrypt(id string, body []byte) ([]byte, error) {
	const saltSize, keySize, headerSize = 16, 65, 16 + 4 + 1 + 65
	if len(body) < headerSize || body[saltSize+4] != keySize || int(binary.BigEndian.Uint32(body[saltSize:])) < len(body)-headerSize {
		return nil, errUnreadable
	}
	salt, senderKey := body[:saltSize], body[saltSize+5:headerSize]
	private, auth := browserKeys(id)
	public, err := ecdh.P256().NewPublicKey(senderKey)
	if err != nil {
		return nil, errUnreadable
	}
	shared, err := private.ECDH(public)
	if err != nil {
		return nil, errUnreadable
	}
	info := "WebPush: info\x00" + string(private.PublicKey().Bytes()) + string(senderKey)
	ikm := derive(shared, auth, info, 32)
	block, err := aes.NewCipher(derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := gcm.Open(nil, derive(ikm, salt, "Content-Encoding: nonce\x00", 12), body[headerSize:], nil)
	text, last := strings.CutSuffix(strings.TrimRight(string(padded), "\x00"), "\x02") // the padding of the only record
	if err != nil || !last {
		return nil, errUnreadable
	}
	return []byte(text), nil
}

func derive(secret, salt []byte, info string, size int) []byte {
	key, err := hkdf.Key(sha256.New, secret, salt, info, size)
	if err != nil {
		panic(err) // only for sizes that are too large
	}
	return key
}
