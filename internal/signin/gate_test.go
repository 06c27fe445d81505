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
	"herald/internal/signin"
)

// directory has one recipient who is active, or is away.
type directory struct{ away error }

func (d directory) ActiveRecipients(ctx context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error) {
	if _, limited := ctx.Deadline(); !limited {
		return nil, errors.New("a lookup without a deadline")
	}
	if d.away != nil || who[0] != anna {
		return nil, d.away
	}
	return who, nil
}

// A request is answered before its handler if it is not known who sends it.
func TestRequired(t *testing.T) {
	t.Parallel()

	token, bob := byHS256(t, nil), byHS256(t, map[string]any{"sub": "11"})
	tests := []struct {
		name, header string
		away         error
		status       int
		challenge    string
		refused      []signin.Reason
	}{
		{name: "a token", header: "Bearer " + token, status: http.StatusOK},
		{name: "the scheme in other letters", header: "bearer  " + token, status: http.StatusOK},
		{name: "nothing", status: http.StatusUnauthorized, challenge: "Bearer", refused: []signin.Reason{signin.NoToken}},
		{name: "another scheme", header: "Basic " + token, status: http.StatusUnauthorized, challenge: "Bearer", refused: []signin.Reason{signin.NoToken}},
		{name: "no scheme", header: token, status: http.StatusUnauthorized, challenge: "Bearer", refused: []signin.Reason{signin.NoToken}},
		{name: "two tokens", header: "Bearer " + token + " " + token, status: http.StatusUnauthorized, challenge: `Bearer error="invalid_token"`, refused: []signin.Reason{signin.Malformed}},
		{name: "somebody unknown", header: "Bearer " + bob, status: http.StatusUnauthorized, challenge: `Bearer error="invalid_token"`, refused: []signin.Reason{signin.NoRecipient}},
		{name: "no database", header: "Bearer " + token, away: errors.New("connection refused by db.internal"), status: http.StatusServiceUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var refused []signin.Reason
			gate := &signin.Gate{Verifier: hs256(), Shares: signin.NewShares(signin.UsualShare), Directory: directory{tt.away}, Refused: func(reason signin.Reason) { refused = append(refused, reason) }}
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

// tickets are those of a database that keeps each statement waiting.
type tickets struct{ signin.TicketStore }

func (tickets) UseTicket(ctx context.Context, _ []byte) (notification.RecipientKey, time.Time, error) {
	if _, limited := ctx.Deadline(); !limited {
		return notification.RecipientKey{}, time.Time{}, errors.New("a lookup without a deadline")
	}
	return notification.RecipientKey{}, time.Time{}, notification.ErrNoTicket
}

func TestTicketIsLookedUpInTime(t *testing.T) {
	t.Parallel()

	gate := &signin.Gate{Tickets: signin.Tickets{Store: tickets{}}, Refused: func(signin.Reason) {}}
	_, err := gate.Socket(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ws?ticket=x", nil))
	require.Equal(t, &signin.Refusal{Reason: signin.BadTicket}, err)
}

// A recipient who asks too much is told so, and nobody else is. Requests beyond those in
// flight wait.
func TestShares(t *testing.T) {
	t.Parallel()

	shares := signin.NewShares(signin.Share{InARow: 3, AtOnce: 2})
	bob := notification.RecipientKey{UserType: anna.UserType, UserID: "11"}
	enter := func(ctx context.Context, who notification.RecipientKey) (func(), error) {
		return shares.Enter(ctx, who)
	}
	first, err := enter(t.Context(), anna)
	require.NoError(t, err)
	_, err = enter(t.Context(), anna)
	require.NoError(t, err)
	entered := make(chan error)
	go func() {
		_, err := enter(t.Context(), anna)
		entered <- err
	}()
	first()
	require.NoError(t, <-entered)
	_, err = enter(t.Context(), anna)
	require.Equal(t, &signin.Refusal{Reason: signin.TooMany}, err)
	_, err = enter(t.Context(), bob)
	require.NoError(t, err)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = enter(ended, bob)
	require.NoError(t, err)
	_, err = enter(ended, bob)
	require.Equal(t, &signin.Refusal{Reason: signin.TooMany}, err, "nobody waits for ever")
}
