// Package signin finds out who sends a request to the gateway: by a JWT, or by a ticket that
// somebody got for one.
package signin

import (
	"context"
	"time"

	"herald/internal/notification"
)

// Identity is a recipient who is signed in.
type Identity struct {
	notification.RecipientKey
	Expires time.Time // of their token; a socket ends with it
}

type identityKey struct{}

// With returns a context in which somebody is signed in.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Who returns who is signed in. Handlers behind [Gate.Required] always have somebody.
func Who(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity)
	return who
}
