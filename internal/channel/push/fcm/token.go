package fcm

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/sync/singleflight"

	"herald/internal/channel"
	"herald/internal/notification"
)

const scope = "https://www.googleapis.com/auth/firebase.messaging"

// sandboxToken is no secret: the sandbox accepts every token.
const sandboxToken = "sandbox"

const (
	// renewBefore is the time before a token's end when the next one is fetched. Google's tokens
	// last an hour. The old token stays in use until the new one arrives.
	renewBefore = 5 * time.Minute
	// renewPause is the minimum time between such fetches.
	renewPause = time.Second
	// tokenTimeout limits one fetch.
	tokenTimeout = 10 * time.Second
)

// tokens holds Google's access token. It runs one fetch at a time for all senders. Each sender
// waits only as long as its own context.
type tokens struct {
	fetch   func() (*oauth2.Token, error) // ends within tokenTimeout
	fetches singleflight.Group

	last  atomic.Pointer[oauth2.Token] // nil: none yet
	begun atomic.Pointer[time.Time]    // start of the last fetch
}

// newTokens reads a service account. Without a file, it uses the sandbox's token.
func newTokens(file string) (*tokens, error) {
	if file == "" {
		static := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: sandboxToken})
		return &tokens{fetch: static.Token}, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("fcm: read credentials: %w", err)
	}
	account, err := google.JWTConfigFromJSON(content, scope)
	if err != nil {
		return nil, errors.New("fcm: the credentials file is not the key of a service account") // err may quote the credentials
	}
	client := &http.Client{Transport: channel.NewTransport(1), Timeout: tokenTimeout}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	// A token source keeps its token until it expires, so each fetch uses a new source.
	return &tokens{fetch: func() (*oauth2.Token, error) { return account.TokenSource(ctx).Token() }}, nil
}

// get returns an access token. If it expires soon, get also starts a fetch of the next one.
func (t *tokens) get(ctx context.Context) (string, *notification.ProviderError) {
	token := t.last.Load()
	if token.Valid() {
		ends := token.Expiry
		if !ends.IsZero() && time.Until(ends) < renewBefore && time.Since(*t.begun.Load()) >= renewPause {
			t.next()
		}
		return token.AccessToken, nil
	}
	select {
	case fetched := <-t.next():
		if fetched.Err != nil {
			return "", tokenFailure(fetched.Err)
		}
		return fetched.Val.(*oauth2.Token).AccessToken, nil
	case <-ctx.Done():
		return "", channel.Interrupted(ctx, provider, nil)
	}
}

// next starts a fetch of the next token, unless one is running, and returns its result.
func (t *tokens) next() <-chan singleflight.Result {
	return t.fetches.DoChan("", func() (any, error) {
		now := time.Now()
		t.begun.Store(&now)
		token, err := t.fetch()
		if err == nil {
			t.last.Store(token)
		}
		return token, err
	})
}

// tokenFailure returns the failure of a delivery without an access token. It drops err itself,
// which quotes the answer.
func tokenFailure(err error) *notification.ProviderError {
	failure := &notification.ProviderError{Provider: provider, Class: notification.Unreachable, Code: "no access token"}
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok && refusal.Response != nil {
		failure.Status = refusal.Response.StatusCode
		if failure.Class = notification.ClassOf(failure.Status, 0); failure.Class == notification.Refused {
			failure.Class = notification.Account // 400 invalid_grant: a revoked key
		}
	}
	return failure
}
