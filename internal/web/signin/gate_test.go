package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/web/signin"
)

// directory has one active recipient, who was guest 7 before a merge. If away is set, it fails.
type directory struct{ away error }

func (d directory) ActiveRecipient(ctx context.Context, who notification.RecipientKey) (notification.RecipientKey, error) {
	_, limited := ctx.Deadline()
	switch guest := (notification.RecipientKey{UserType: notification.Guest, UserID: "7"}); {
	case !limited:
		return who, errors.New("a lookup without a deadline")
	case d.away != nil:
		return who, d.away
	case who != anna && who != guest:
		return who, notification.ErrNoRecipient
	}
	return anna, nil
}

// Required refuses a request without a valid token before its handler runs.
func TestRequired(t *testing.T) {
	t.Parallel()

	token, bob := byHS256(t, nil), byHS256(t, map[string]any{"sub": "11"})
	guest := byHS256(t, map[string]any{"sub": "7", "user_type": "GUEST"})
	tests := []struct {
		name, header string
		away         error
		status       int
		challenge    string
		refused      []signin.Reason
	}{
		{name: "a token", header: "Bearer " + token, status: http.StatusOK},
		{name: "the scheme in lower case", header: "bearer  " + token, status: http.StatusOK},
		{name: "somebody who was merged", header: "Bearer " + guest, status: http.StatusOK},
		{name: "nothing", status: http.StatusUnauthorized, challenge: "Bearer", refused: []signin.Reason{signin.NoToken}},
		{name: "another scheme", header: "Basic " + token, status: http.StatusUnauthorized, challenge: "Bearer",
			refused: []signin.Reason{signin.NoToken}},
		{name: "no scheme", header: token, status: http.StatusUnauthorized, challenge: "Bearer", refused: []signin.Reason{signin.NoToken}},
		{name: "two tokens", header: "Bearer " + token + " " + token, status: http.StatusUnauthorized, challenge: `Bearer error="invalid_token"`,
			refused: []signin.Reason{signin.Malformed}},
		{name: "somebody unknown", header: "Bearer " + bob, status: http.StatusUnauthorized, challenge: `Bearer error="invalid_token"`,
			refused: []signin.Reason{signin.NoRecipient}},
		{name: "no database", header: "Bearer " + token, away: errors.New("connection refused by db.internal"),
			status: http.StatusServiceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var refused []signin.Reason
			gate := &signin.Gate{
				Verifier: hs256(), Shares: signin.NewShares(signin.UsualShare), Directory: directory{tt.away},
				Refused: func(reason signin.Reason) { refused = append(refused, reason) },
			}
			handler := gate.Required(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				require.Equal(t, anna, signin.Who(r.Context()).RecipientKey)
			}))
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/notifications", nil)
			r.Header.Set("Authorization", tt.header)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)

			require.Equal(t, tt.status, answer.Code)
			require.Equal(t, tt.refused, refused)
			require.Equal(t, tt.challenge, answer.Header().Get("WWW-Authenticate"))
			require.Equal(t, tt.status == http.StatusServiceUnavailable, answer.Header().Get("Retry-After") != "")
			require.NotContains(t, answer.Body.String(), "db.internal")
		})
	}
}

// tickets stores tickets in memory.
type tickets struct{ kept map[string]signin.Identity }

func (t tickets) NewTicket(_ context.Context, hash []byte, who notification.RecipientKey, tokenExpires, _ time.Time) error {
	t.kept[string(hash)] = signin.Identity{RecipientKey: who, Expires: tokenExpires}
	return nil
}

func (t tickets) UseTicket(ctx context.Context, hash []byte) (notification.RecipientKey, time.Time, error) {
	if _, limited := ctx.Deadline(); !limited {
		return notification.RecipientKey{}, time.Time{}, errors.New("a lookup without a deadline")
	}
	who, ok := t.kept[string(hash)]
	if !ok {
		return who.RecipientKey, time.Time{}, notification.ErrNoTicket
	}
	delete(t.kept, string(hash))
	return who.RecipientKey, who.Expires, nil
}

// A ticket opens one socket. A malformed ticket causes no database query.
func TestTickets(t *testing.T) {
	t.Parallel()

	kept := signin.Tickets{Store: tickets{map[string]signin.Identity{}}, Key: []byte("key")}
	gate := &signin.Gate{Tickets: kept, Shares: signin.NewShares(signin.UsualShare), Directory: directory{}, Refused: func(signin.Reason) {}}
	use := func(gate *signin.Gate, ticket string) error {
		_, err := gate.Socket(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws?ticket="+ticket, nil))
		return err
	}
	ticket, _, err := kept.Issue(t.Context(), signin.Identity{RecipientKey: anna, Expires: time.Now().Add(time.Hour)})
	require.NoError(t, err)
	forged := &signin.Gate{Tickets: signin.Tickets{Key: []byte("another key")}, Refused: func(signin.Reason) {}} // without a database
	for _, word := range []string{ticket, "x", "AAAA"} {
		require.Equal(t, &signin.Refusal{Reason: signin.BadTicket}, use(forged, word))
	}
	require.NoError(t, use(gate, ticket))
	require.Equal(t, &signin.Refusal{Reason: signin.BadTicket}, use(gate, ticket))
}

// A code can be exchanged for the token once. It is encrypted, and a malformed code causes no
// database query.
func TestCodes(t *testing.T) {
	t.Parallel()

	codes := signin.Codes{
		Tickets: signin.Tickets{Store: tickets{map[string]signin.Identity{}}, Key: []byte("key")}, Key: []byte(hmacSecret[:32]),
	}
	r := httptest.NewRequestWithContext(signin.With(t.Context(), signin.Identity{RecipientKey: anna, Expires: time.Now().Add(time.Minute)}),
		http.MethodPost, "/api/inbox-code", nil)
	r.Header.Set("Authorization", "Bearer a.b.c")
	code, expires, err := codes.Issue(r)
	require.NoError(t, err)
	require.False(t, expires.After(signin.Who(r.Context()).Expires), "a code does not outlive its token")

	forged := signin.Codes{Key: []byte("another secret of the tests, 32.")} // without a database
	for _, word := range []string{"", "x", "%", code} {
		_, err := forged.Redeem(t.Context(), word)
		require.Equal(t, &signin.Refusal{Reason: signin.BadTicket}, err, word)
	}
	token, err := codes.Redeem(t.Context(), code)
	require.NoError(t, err)
	require.Equal(t, "a.b.c", token)
	_, err = codes.Redeem(t.Context(), code)
	require.Equal(t, &signin.Refusal{Reason: signin.BadTicket}, err)
}

// Shares refuses only recipients with too many requests. More requests than AtOnce wait.
func TestShares(t *testing.T) {
	t.Parallel()

	shares := signin.NewShares(signin.Share{InARow: 3, AtOnce: 2})
	bob := notification.RecipientKey{UserType: anna.UserType, UserID: "11"}
	first, err := shares.Enter(t.Context(), anna)
	require.NoError(t, err)
	_, err = shares.Enter(t.Context(), anna)
	require.NoError(t, err)
	entered := make(chan error)
	go func() {
		_, err := shares.Enter(t.Context(), anna)
		entered <- err
	}()
	first()
	require.NoError(t, <-entered)
	_, err = shares.Enter(t.Context(), anna)
	require.Equal(t, &signin.Refusal{Reason: signin.TooMany}, err)
	_, err = shares.Enter(t.Context(), bob)
	require.NoError(t, err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = shares.Enter(t.Context(), bob)
	require.NoError(t, err)
	_, err = shares.Enter(ended, bob)
	require.Equal(t, &signin.Refusal{Reason: signin.TooMany}, err, "nobody waits for ever")
}
