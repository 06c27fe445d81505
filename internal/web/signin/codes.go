package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"net/http"
	"time"
)

// Codes lets an application open the page by a link. A code is the recipient's encrypted token. It
// works once, so a link in a history or a log is useless.
type Codes struct {
	Tickets Tickets // stores the unused codes
	Key     []byte  // 32 bytes; encrypts the tokens
	// PreviousKey decrypts codes from gateways that have the previous secret; nil if there is none.
	PreviousKey []byte
}

// Issue returns a code for the signed-in sender of a request. The code expires no later than the
// sender's token.
func (c Codes) Issue(r *http.Request) (code string, expires time.Time, err error) {
	sealed := c.cipher().Seal(nil, nil, []byte(bearer(r)), nil)
	code = base64.RawURLEncoding.EncodeToString(sealed)
	expires, err = c.Tickets.keep(r.Context(), code, Who(r.Context()), codeLasts)
	return code, expires, err
}

// Redeem returns the token in a code, once. It refuses a malformed code without a database query.
// The error is a [*Refusal], or the database's error.
func (c Codes) Redeem(ctx context.Context, code string) (token string, err error) {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(code)
	if err != nil {
		return "", &Refusal{BadTicket}
	}
	opened, err := c.cipher().Open(nil, nil, sealed, nil)
	if err != nil && c.PreviousKey != nil {
		c = Codes{Tickets: c.Tickets.previous(), Key: c.PreviousKey}
		opened, err = c.cipher().Open(nil, nil, sealed, nil)
	}
	if err != nil {
		return "", &Refusal{BadTicket}
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if _, err := c.Tickets.take(ctx, code); err != nil {
		return "", err
	}
	return string(opened), nil
}

func (c Codes) cipher() cipher.AEAD {
	block, err := aes.NewCipher(c.Key)
	if err != nil {
		panic(err) // wrong length of the key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // wrong block size
	}
	return aead
}
