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
	// ticketLasts is long enough to open a socket, and too short for an address that lies
	// in somebody's log to be of use.
	ticketLasts = 30 * time.Second
	// codeLasts is long enough to load a page over a slow line.
	codeLasts = 2 * time.Minute
	// ticketBytes are too many to guess. The first half is random, and the second signs it.
	ticketBytes = 32
)

// TicketStore keeps the hashes of tickets where every gateway sees them.
type TicketStore interface {
	NewTicket(ctx context.Context, hash []byte, who notification.RecipientKey, tokenExpires, ticketExpires time.Time) error
	// UseTicket returns the recipient of a ticket, once. Later, and for any other hash, the error
	// is [notification.ErrNoTicket].
	UseTicket(ctx context.Context, hash []byte) (who notification.RecipientKey, tokenExpires time.Time, err error)
}

// Tickets let browsers open a socket: they cannot send a header with it, and an address
// with a token in it would be in logs.
type Tickets struct {
	Store TicketStore
	Key   []byte // of the hashes: a reader of the table can neither use nor make a ticket
	// PreviousKey is the key of tickets from gateways that have the previous secret; nil: none.
	PreviousKey []byte
}

// Issue returns a ticket for somebody who is signed in, which lasts as long as their token
// at most.
func (t Tickets) Issue(ctx context.Context, who Identity) (ticket string, expires time.Time, err error) {
	raw := make([]byte, ticketBytes/2)
	_, _ = rand.Read(raw) // it never fails
	ticket = base64.RawURLEncoding.EncodeToString(append(raw, t.hash(raw)[:ticketBytes/2]...))
	expires, err = t.keep(ctx, ticket, who, ticketLasts)
	return ticket, expires, err
}

// use returns the recipient of a ticket, once. A word that is no ticket costs the database
// nothing.
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

// previous returns the tickets of gateways that have the previous secret.
func (t Tickets) previous() Tickets { return Tickets{Store: t.Store, Key: t.PreviousKey} }

// keep stores that a word may be taken once, until expires.
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

// take returns the recipient of a word that keep stored, once.
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
