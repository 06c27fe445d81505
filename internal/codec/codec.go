// Package codec encrypts the payloads that Herald stores in Temporal. Only processes with a key can
// read them.
package codec

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// Codec encrypts and decrypts payloads. The zero value has no keys: it encrypts nothing, and
// refuses encrypted payloads. It is safe for concurrent use.
type Codec struct {
	keys map[string]cipher.AEAD
	id   string // the id of the key that encrypts; empty: new payloads stay clear text
}

var _ converter.PayloadCodec = Codec{}

const (
	keySize   = 32 // bytes: AES-256
	encrypted = "binary/encrypted"
	keyID     = "encryption-key-id" // metadata with the id of the key, as in Temporal's examples
)

var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`)

// errKeys does not quote the value, because it is a secret.
var errKeys = errors.New("must be id:key, or several with commas between them and different ids; a key is 32 bytes in base64: create it " +
	"with `openssl rand -base64 32`")

// New reads keys such as "b:KEY,a:KEY". All keys decrypt. If encrypt is set, the first key
// encrypts.
func New(keys string, encrypt bool) (Codec, error) {
	c := Codec{keys: map[string]cipher.AEAD{}}
	if keys == "" {
		return c, nil
	}
	for i, pair := range strings.Split(keys, ",") {
		id, text, _ := strings.Cut(strings.TrimSpace(pair), ":")
		key, err := base64.StdEncoding.DecodeString(text)
		if err != nil || len(key) != keySize || !idForm.MatchString(id) || c.keys[id] != nil {
			return Codec{}, errKeys
		}
		if c.keys[id], err = gcm(key); err != nil {
			return Codec{}, err
		}
		if i == 0 && encrypt {
			c.id = id
		}
	}
	return c, nil
}

// gcm draws a random nonce of 96 bits for each payload. So a key is safe for 2^32 payloads: NIST SP
// 800-38D, 8.3.
func gcm(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Encode encrypts payloads. It does not change encrypted payloads, or payloads without data.
func (c Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.id == "" {
		return payloads, nil
	}
	return each(payloads, c.encrypt)
}

// Decode decrypts payloads. It does not change payloads that are not encrypted.
func (c Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return each(payloads, c.decrypt)
}

func each(payloads []*commonpb.Payload, change func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	changed := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if changed[i], err = change(p); err != nil {
			return payloads, err
		}
	}
	return changed, nil
}

func (c Codec) encrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	if len(p.GetData()) == 0 || isEncrypted(p) {
		return p, nil
	}
	plain, err := proto.Marshal(p)
	if err != nil {
		return nil, err
	}
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted), keyID: []byte(c.id)},
		Data:     c.keys[c.id].Seal(nil, nil, plain, nil),
	}, nil
}

func (c Codec) decrypt(p *commonpb.Payload) (*commonpb.Payload, error) {
	if !isEncrypted(p) {
		return p, nil
	}
	id := string(p.GetMetadata()[keyID])
	key := c.keys[id]
	if key == nil {
		return nil, fmt.Errorf("a payload is encrypted with the key %.40q: add this key to HISTORY_KEYS", id)
	}
	plain, err := key.Open(nil, nil, p.GetData(), nil)
	if err != nil {
		return nil, fmt.Errorf("a payload does not match the key %q: it was changed, or HISTORY_KEYS has another key with this id", id)
	}
	decrypted := &commonpb.Payload{}
	return decrypted, proto.Unmarshal(plain, decrypted)
}

func isEncrypted(p *commonpb.Payload) bool {
	return string(p.GetMetadata()[converter.MetadataEncoding]) == encrypted
}
