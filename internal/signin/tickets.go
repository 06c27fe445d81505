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
	// ticketBytes are too many to guess.
	ticketBytes = 32
)

// TicketStore keeps the hashes of tickets where every gateway sees them.
type TicketStore interface {
	NewTicket(ctx context.Context, hash []byte, who notification.RecipientKey, tokenExpires, ticketExpires time.Time) error
	// UseTicket returns whom a ticket is for, once. Later, and for any other hash, the error
	// is [notification.ErrNoTicket].
	UseTicket(ctx context.Context, hash []byte) (who notification.RecipientKey, tokenExpires time.Time, err error)
}

// Tickets let browsers open a socket: they cannot send a header with it, and an address
// with a token in it would stand in logs.
type Tickets struct {
	Store TicketStore
	Key   []byte // of the hashes: whoever reads the table can neither use nor make a ticket
}

// Issue returns a ticket for somebody who is signed in, which lasts as long as their token
// at most.
func (t Tickets) Issue(ctx context.Context, who Identity) (ticket string, expires time.Time, err error) {
	random := make([]byte, ticketBytes)
	_, _ = rand.Read(random) // it never fails
	ticket = base64.RawURLEncoding.EncodeToString(random)
	expires = time.Now().Add(ticketLasts)
	if expires.After(who.Expires) {
		expires = who.Expires
	}
	if err := t.Store.NewTicket(ctx, t.hash(ticket), who.RecipientKey, who.Expires, expires); err != nil {
		return "", time.Time{}, fmt.Errorf("issue a ticket: %w", err)
	}
	return ticket, expires, nil
}

// use returns whom a ticket is for, and takes it.
func (t Tickets) use(ctx context.Context, ticket string) (Identity, error) {
	who, expires, err := t.Store.UseTicket(ctx, t.hash(ticket))
	if errors.Is(err, notification.ErrNoTicket) {
		return Identity{}, &Refusal{BadTicket}
	}
	if err != nil {
		return Identity{}, fmt.Errorf("use a ticket: %w", err)
	}
	return Identity{who, expires}, nil
}

func (t Tickets) hash(ticket string) []byte {
	mac := hmac.New(sha256.New, t.Key)
	_, _ = mac.Write([]byte(ticket))
	return mac.Sum(nil)
}
