package signin_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/signin"
)

// directory has one recipient who is active, or is away.
type directory struct{ away error }

func (d directory) ActiveRecipients(_ context.Context, who []notification.RecipientKey) ([]notification.RecipientKey, error) {
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
			gate := &signin.Gate{Verifier: hs256(), Directory: directory{tt.away}, Refused: func(reason signin.Reason) { refused = append(refused, reason) }}
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
