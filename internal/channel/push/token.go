package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"herald/internal/channel"
	"herald/internal/notification"
)

const scope = "https://www.googleapis.com/auth/firebase.messaging"

// sandboxToken is no secret: whatever stands in for FCM accepts every token.
const sandboxToken = "sandbox"

// tokenSource yields access tokens, and keeps them until they expire.
type tokenSource = oauth2.TokenSource

// newTokenSource reads a service account. Without a file the tokens are those
// of the sandbox.
func newTokenSource(file string) (tokenSource, error) {
	if file == "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: sandboxToken}), nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("fcm: read credentials: %w", err)
	}
	account, err := google.JWTConfigFromJSON(content, scope)
	if err != nil {
		return nil, errors.New("fcm: the credentials are not those of a service account") // err may quote them
	}
	client := &http.Client{Transport: channel.NewTransport(1), Timeout: channel.DefaultTimeout}
	return account.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, client)), nil
}

// token returns an access token. The source knows no context and serves one
// caller at a time, so it is asked aside; its client's timeout ends it.
func (s *Sender) token(ctx context.Context) (string, *notification.ProviderError) {
	type result struct {
		token *oauth2.Token
		err   error
	}
	got := make(chan result, 1)
	go func() {
		token, err := s.tokens.Token()
		got <- result{token, err}
	}()
	select {
	case r := <-got:
		if r.err != nil {
			return "", tokenFailure(r.err)
		}
		return r.token.AccessToken, nil
	case <-ctx.Done():
		return "", channel.Interrupted(ctx, provider)
	}
}

// tokenFailure says what a refused access token means. Nothing was sent, but
// for the next attempt that makes no difference. The error itself is not kept:
// it quotes the answer.
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
