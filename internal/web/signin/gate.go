package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"herald/internal/notification"
)

const (
	// Subprotocol is the WebSocket subprotocol of a socket.
	Subprotocol = "herald.v1"
	// tokenProtocol is the prefix of the subprotocol in which a browser can send its token.
	tokenProtocol = "bearer."
)

// Directory finds the recipients who may sign in.
type Directory interface {
	// ActiveRecipient returns who if they exist and are active, or the target of a merge of who.
	// If the target is not active, the error is [notification.ErrNoRecipient].
	ActiveRecipient(ctx context.Context, who notification.RecipientKey) (notification.RecipientKey, error)
}

// lookupTimeout limits the wait for the database and for the recipient's other requests.
const lookupTimeout = 5 * time.Second

// Gate identifies the sender of a request. Its errors are a [*Refusal] or the database's error.
// [Refuse] answers both.
type Gate struct {
	Verifier  *Verifier
	Tickets   Tickets
	Shares    *Shares
	Directory Directory
	Refused   func(Reason) // called for each refusal
}

// Required passes requests with a valid token to next, and refuses other requests. In next, [Who]
// returns the sender.
func (g *Gate) Required(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, leave, err := g.admit(r.Context(), func(context.Context) (Identity, error) { return g.verify(bearer(r)) })
		if err != nil {
			Refuse(w, err)
			return
		}
		defer leave()
		next.ServeHTTP(w, r.WithContext(With(r.Context(), who)))
	})
}

// Socket identifies the sender who opens a socket: by a token in the header or the subprotocols,
// or by a ticket.
func (g *Gate) Socket(r *http.Request) (Identity, error) {
	who, leave, err := g.admit(r.Context(), func(ctx context.Context) (Identity, error) {
		token := bearer(r)
		if token == "" {
			token = offered(r)
		}
		if ticket := r.URL.Query().Get("ticket"); token == "" && ticket != "" {
			return g.Tickets.use(ctx, ticket)
		}
		return g.verify(token)
	})
	if err == nil {
		leave() // package live limits the sockets
	}
	return who, err
}

func (g *Gate) verify(token string) (Identity, error) {
	if token == "" {
		return Identity{}, &Refusal{NoToken}
	}
	return g.Verifier.Verify(token)
}

// admit admits an active recipient within the recipient's share, until leave is called.
func (g *Gate) admit(ctx context.Context, identify func(context.Context) (Identity, error)) (who Identity, leave func(), err error) {
	limited, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	if who, err = identify(limited); err == nil {
		who, leave, err = g.enter(limited, who)
	}
	if err == nil {
		return who, leave, nil
	}
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		g.Refused(refusal.Reason)
	} else if ctx.Err() == nil { // else the client has disconnected
		slog.Warn("nobody can be signed in", "error", err)
	}
	return Identity{}, nil, err
}

// enter returns the recipient that the sender acts as: who, or the target of a merge of who.
func (g *Gate) enter(ctx context.Context, who Identity) (present Identity, leave func(), err error) {
	leave, err = g.Shares.Enter(ctx, who.RecipientKey)
	if err != nil {
		return who, nil, err
	}
	who.RecipientKey, err = g.Directory.ActiveRecipient(ctx, who.RecipientKey)
	if err == nil {
		return who, leave, nil
	}
	leave()
	if errors.Is(err, notification.ErrNoRecipient) {
		return who, nil, &Refusal{NoRecipient}
	}
	return who, nil, fmt.Errorf("look up who signs in: %w", err)
}

// bearer returns the token in the Authorization header, or "".
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// offered returns the token among the subprotocols, or "".
func offered(r *http.Request) string {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for protocol := range strings.SplitSeq(line, ",") {
			if token, ok := strings.CutPrefix(strings.TrimSpace(protocol), tokenProtocol); ok {
				return token
			}
		}
	}
	return ""
}
