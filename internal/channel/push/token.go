package push

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
	// renewBefore is how long before its end the next token is fetched. Google's
	// last an hour. Until the new one is there, the old one is used.
	renewBefore = 5 * time.Minute
	// renewPause is the least time from one fetch to such a fetch.
	renewPause = time.Second
	// tokenTimeout bounds one fetch.
	tokenTimeout = 10 * time.Second
)

// tokens keeps Google's access token. However many senders ask, it fetches the next
// token once at a time, and each sender waits no longer than its own context lasts.
type tokens struct {
	fetch   func() (*oauth2.Token, error) // ends by itself, after tokenTimeout at the latest
	fetches singleflight.Group

	last  atomic.Pointer[oauth2.Token] // nil: none yet
	begun atomic.Pointer[time.Time]    // when the last fetch began
}

// newTokens reads a service account. Without a file the tokens are those of the
// sandbox.
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
		return nil, errors.New("fcm: the credentials are not those of a service account") // err may quote them
	}
	client := &http.Client{Transport: channel.NewTransport(1), Timeout: tokenTimeout}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	// A token source keeps its token until it expires, so each fetch has a new source.
	return &tokens{fetch: func() (*oauth2.Token, error) { return account.TokenSource(ctx).Token() }}, nil
}

// get returns an access token. If it expires soon, get also begins to fetch the next one.
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
		return "", channel.Interrupted(ctx, provider)
	}
}

// next begins to fetch the next token, unless a fetch is under way, and tells its result.
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

// tokenFailure says what it means for a delivery that there is no access token. It
// drops the error itself, which quotes the answer.
func tokenFailure(err error) *notification.ProviderError {
	failure := &notification.ProviderError{Provider: provider, Class: notification.Ambiguous, Code: "no access token"}
	var refusal *oauth2.RetrieveError
	if errors.As(err, &refusal) && refusal.Response != nil {
		failure.Status = refusal.Response.StatusCode
		if failure.Class = notification.ClassOf(failure.Status); failure.Class == notification.Refused {
			failure.Class = notification.Account // 400 invalid_grant: a revoked key
		}
	}
	return failure
}
