package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

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
	fetch func() (*oauth2.Token, error) // ends by itself, after tokenTimeout at the latest

	mu       sync.Mutex
	token    *oauth2.Token // the last one; nil: none yet
	fetching *fetching     // nil: no fetch is under way
	begun    time.Time     // when the last fetch began
}

// fetching is a fetch that is under way.
type fetching struct {
	ended chan struct{} // closed when token and err are set
	token *oauth2.Token
	err   error
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

// get returns an access token.
func (t *tokens) get(ctx context.Context) (string, *notification.ProviderError) {
	token, next := t.current()
	if next == nil {
		return token.AccessToken, nil
	}
	select {
	case <-next.ended:
		if next.err != nil {
			return "", tokenFailure(next.err)
		}
		return next.token.AccessToken, nil
	case <-ctx.Done():
		return "", channel.Interrupted(ctx, provider)
	}
}

// current returns the token if it is valid, else the fetch to wait for. If the
// token expires soon, it also begins to fetch the next one.
func (t *tokens) current() (*oauth2.Token, *fetching) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.token.Valid() {
		t.begin()
		return nil, t.fetching
	}
	ends := t.token.Expiry
	if !ends.IsZero() && time.Until(ends) < renewBefore && time.Since(t.begun) >= renewPause {
		t.begin()
	}
	return t.token, nil
}

// begin begins a fetch, unless one is under way. The caller holds the lock.
func (t *tokens) begin() {
	if t.fetching != nil {
		return
	}
	next := &fetching{ended: make(chan struct{})}
	t.fetching, t.begun = next, time.Now()
	go func() {
		next.token, next.err = t.fetch()
		t.mu.Lock()
		defer t.mu.Unlock()
		if next.err == nil {
			t.token = next.token
		}
		t.fetching = nil
		close(next.ended)
	}()
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
