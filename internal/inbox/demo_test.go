package inbox_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDemo chooses one of the people, and reads their inbox.
func TestDemo(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	g.notify(giulia, 1)
	_, answer, body := g.do(t, request{method: "GET", path: "/demo/people"})
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, `[{"user_type":"RESTAURANT_USER","user_id":"10","name":"Giulia Conti"},{"user_type":"RESTAURANT_USER","user_id":"11","name":"Marco Bianchi"}]`, string(body))

	_, answer, body = g.do(t, request{method: "POST", path: "/demo/token", body: `{"user_type":"RESTAURANT_USER","user_id":"10"}`})
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	var chosen struct{ Token string }
	require.NoError(t, json.Unmarshal(body, &chosen))
	_, answer, body = g.do(t, request{method: "GET", path: "/api/notifications/unread-count", token: chosen.Token})
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, `{"unread":1}`, string(body))

	for body, want := range map[string]int{
		`{"user_type":"RESTAURANT_USER","user_id":"15"}`: http.StatusNotFound, // no longer active
		`{"user_type":"ADMIN","user_id":"10"}`:           http.StatusNotFound,
		`{"user_type":"ADMIN","role":"root"}`:            http.StatusBadRequest,
	} {
		_, answer, _ := g.do(t, request{method: "POST", path: "/demo/token", body: body})
		require.Equal(t, want, answer.StatusCode, body)
	}
}
