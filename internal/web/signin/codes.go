package signin

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"net/http"
	"time"
)

// Codes let an application open the page by a link. A code is the recipient's token, sealed,
// and works once: a link that is in a history or a log is of no use.
type Codes struct {
	Tickets Tickets // keep which codes are unused
	Key     []byte  // of 32 bytes; it seals tokens
	// PreviousKey is the key of codes from gateways that have the previous secret; nil: none.
	PreviousKey []byte
}

// Issue returns a code for the sender of a request, who is signed in. It lasts as long as
// their token at most.
func (c Codes) Issue(r *http.Request) (code string, expires time.Time, err error) {
	sealed := c.cipher().Seal(nil, nil, []byte(bearer(r)), nil)
	code = base64.RawURLEncoding.EncodeToString(sealed)
	expires, err = c.Tickets.keep(r.Context(), code, Who(r.Context()), codeLasts)
	return code, expires, err
}

// Redeem returns the token in a code, once. A word that is no code costs the database nothing.
// The error is a [*Refusal], or says that the database does not answer.
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
		panic(err) // the key has another length
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block has another length
	}
	return aead
}
