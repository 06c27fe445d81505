// Package signin identifies the sender of a request to the gateway: by a JWT, or by a ticket issued
// for a JWT.
package signin

import (
	"context"
	"time"

	"herald/internal/notification"
)

// Identity is a signed-in recipient.
type Identity struct {
	notification.RecipientKey
	Expires time.Time // when the token expires, which also ends a socket
}

type identityKey struct{}

// With returns a context in which who is signed in.
func With(ctx context.Context, who Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, who)
}

// Who returns the signed-in recipient. Handlers behind [Gate.Required] always have a recipient.
func Who(ctx context.Context) Identity {
	who, _ := ctx.Value(identityKey{}).(Identity)
	return who
}
