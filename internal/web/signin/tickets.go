package signin

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"herald/internal/notification"
)

const (
	// ticketLasts is long enough to open a socket, and so short that a ticket in a logged URL is
	// useless.
	ticketLasts = 30 * time.Second
	// codeLasts is long enough to load the page over a slow connection.
	codeLasts = 2 * time.Minute
	// ticketBytes is the length of a ticket. Its second half is the signature of its random first
	// half.
	ticketBytes = 32
)

// TicketStore stores the hashes of tickets for all gateways.
type TicketStore interface {
	NewTicket(ctx context.Context, hash []byte, who notification.RecipientKey, tokenExpires, ticketExpires time.Time) error
	// UseTicket returns the recipient of a ticket, once. For a used or unknown hash the error is
	// [notification.ErrNoTicket].
	UseTicket(ctx context.Context, hash []byte) (who notification.RecipientKey, tokenExpires time.Time, err error)
}

// Tickets lets browsers open a socket by a ticket in the URL. Browsers cannot send an Authorization
// header with a WebSocket, and a token in the URL would appear in logs.
type Tickets struct {
	Store TicketStore
	Key   []byte // makes hashes and signatures, so that readers of the table can neither use nor make tickets
	// PreviousKey is the key of gateways that have the previous secret; nil if there is none.
	PreviousKey []byte
}

// Issue returns a ticket for a signed-in recipient. It expires no later than the recipient's token.
func (t Tickets) Issue(ctx context.Context, who Identity) (ticket string, expires time.Time, err error) {
	raw := make([]byte, ticketBytes/2)
	_, _ = rand.Read(raw) // never fails
	ticket = base64.RawURLEncoding.EncodeToString(append(raw, t.hash(raw)[:ticketBytes/2]...))
	expires, err = t.keep(ctx, ticket, who, ticketLasts)
	return ticket, expires, err
}

// use returns the recipient of a ticket, once. It refuses a forged ticket without a database query.
func (t Tickets) use(ctx context.Context, ticket string) (Identity, error) {
	raw, err := base64.RawURLEncoding.DecodeString(ticket)
	if err != nil || len(raw) != ticketBytes {
		return Identity{}, &Refusal{BadTicket}
	}
	for _, with := range []Tickets{t, t.previous()} {
		if with.Key != nil && hmac.Equal(raw[ticketBytes/2:], with.hash(raw[:ticketBytes/2])[:ticketBytes/2]) {
			return with.take(ctx, ticket)
		}
	}
	return Identity{}, &Refusal{BadTicket}
}

// previous returns Tickets with the previous key.
func (t Tickets) previous() Tickets { return Tickets{Store: t.Store, Key: t.PreviousKey} }

// keep stores a ticket or code, so that take accepts it once, before it expires.
func (t Tickets) keep(ctx context.Context, word string, who Identity, lasts time.Duration) (expires time.Time, err error) {
	expires = time.Now().Add(lasts)
	if expires.After(who.Expires) {
		expires = who.Expires
	}
	if err := t.Store.NewTicket(ctx, t.hash([]byte(word)), who.RecipientKey, who.Expires, expires); err != nil {
		return time.Time{}, fmt.Errorf("issue a ticket: %w", err)
	}
	return expires, nil
}

// take returns the recipient of a ticket or code that keep stored, once.
func (t Tickets) take(ctx context.Context, word string) (Identity, error) {
	who, expires, err := t.Store.UseTicket(ctx, t.hash([]byte(word)))
	if errors.Is(err, notification.ErrNoTicket) {
		return Identity{}, &Refusal{BadTicket}
	}
	if err != nil {
		return Identity{}, fmt.Errorf("use a ticket: %w", err)
	}
	return Identity{who, expires}, nil
}

func (t Tickets) hash(word []byte) []byte {
	mac := hmac.New(sha256.New, t.Key)
	_, _ = mac.Write(word)
	return mac.Sum(nil)
}
