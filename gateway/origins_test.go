package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	own     = "https://gateway.example.com"
	allowed = "https://app.example.com"
)

func TestOrigins(t *testing.T) {
	t.Parallel()

	list := origins{allowed: []string{allowed}}
	demo := origins{allowed: []string{allowed}, demo: true}
	tests := []struct {
		name    string
		from    origins
		host    string
		origins []string
		refused string // the cause; empty: permitted
	}{
		{name: "no origin"},
		{name: "own page", origins: []string{own}},
		{name: "own page, other origins allowed", from: list, origins: []string{own}},
		{name: "own page, TLS ends at a load balancer", host: "gateway.example.com:8443", origins: []string{own + ":8443"}},
		{name: "an allowed page", from: list, origins: []string{allowed}},
		{name: "a page that is not allowed", origins: []string{allowed}, refused: otherOrigin},
		{name: "another page", from: list, origins: []string{"https://evil.example.com"}, refused: otherOrigin},
		{name: "another port", from: list, origins: []string{allowed + ":8443"}, refused: otherOrigin},
		{name: "another scheme", from: list, origins: []string{"http://app.example.com"}, refused: otherOrigin},
		{name: "a name with an allowed prefix", from: list, origins: []string{allowed + ".evil.example.com"}, refused: otherOrigin},
		{name: "a subdomain", origins: []string{"https://a.gateway.example.com"}, refused: otherOrigin},
		{name: "a page in a sandbox or a file", from: list, origins: []string{"null"}, refused: otherOrigin},
		{name: "an empty origin", from: list, origins: []string{""}, refused: otherOrigin},
		{name: "own name as the user part of another URL", origins: []string{"https://gateway.example.com@evil.example.com"},
			refused: otherOrigin},
		{name: "two origins", from: list, origins: []string{allowed, "https://evil.example.com"}, refused: otherOrigin},
		{name: "the demo", from: demo, host: "127.0.0.1:8080", origins: []string{"http://127.0.0.1:8080"}},
		{name: "the demo by name", from: demo, host: "localhost:8080"},
		{name: "the demo by IPv6", from: demo, host: "[::1]:8080", origins: []string{"http://[::1]:8080"}},
		{name: "the demo from an allowed page", from: demo, host: "127.0.0.1:8080", origins: []string{allowed}, refused: otherOrigin},
		{name: "the demo under a foreign host name", from: demo, host: "evil.example.com:8080",
			origins: []string{"http://evil.example.com:8080"}, refused: otherHost},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var causes []string
			tt.from.refused = func(cause string) { causes = append(causes, cause) }
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, own+"/api/notifications", nil)
			if tt.host != "" {
				r.Host = tt.host
			}
			for _, origin := range tt.origins {
				r.Header.Add("Origin", origin)
			}
			answer := httptest.NewRecorder()
			tt.from.guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })).ServeHTTP(answer, r)

			if tt.refused == "" {
				require.Equal(t, http.StatusTeapot, answer.Code)
				require.Empty(t, causes)
				return
			}
			require.Equal(t, http.StatusForbidden, answer.Code)
			require.Equal(t, "application/problem+json", answer.Header().Get("Content-Type"))
			require.Empty(t, answer.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, []string{tt.refused}, causes)
		})
	}
}

// A browser gets the CORS headers, even in the answer to its preflight request.
func TestCORSHeaders(t *testing.T) {
	t.Parallel()

	handler := shared(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	ask := func(method string, header map[string]string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, own+"/api/preferences", nil)
		for name, value := range header {
			r.Header.Set(name, value)
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return answer
	}

	first := ask(http.MethodOptions, map[string]string{"Origin": allowed, "Access-Control-Request-Method": "PUT"})
	require.Equal(t, http.StatusNoContent, first.Code, "a preflight request has no token")
	require.Equal(t, allowed, first.Header().Get("Access-Control-Allow-Origin"))
	require.Contains(t, first.Header().Get("Access-Control-Allow-Methods"), "PUT")
	require.Contains(t, first.Header().Get("Access-Control-Allow-Headers"), "Authorization")
	require.Empty(t, first.Header().Get("Access-Control-Allow-Credentials"), "tokens are not cookies")
	require.Equal(t, "Origin", first.Header().Get("Vary"))

	then := ask(http.MethodGet, map[string]string{"Origin": allowed})
	require.Equal(t, http.StatusUnauthorized, then.Code)
	require.Equal(t, allowed, then.Header().Get("Access-Control-Allow-Origin"), "the page can read the error")

	none := ask(http.MethodGet, nil)
	require.Empty(t, none.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, http.StatusUnauthorized, ask(http.MethodOptions, map[string]string{"Origin": allowed}).Code, "not a preflight request")
}
