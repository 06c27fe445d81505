package console_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"log/slog"

	"github.com/stretchr/testify/require"

	"herald/internal/web/console"
)

// Nobody gets at a console without signing in, except on a loopback address.
func TestAccessCheck(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, addr string
		access     console.Access
		wrong      string
	}{
		{name: "loopback", addr: "127.0.0.1:8083"},
		{name: "loopback, IPv6", addr: "[::1]:8083"},
		{name: "localhost", addr: "localhost:0"},
		{name: "behind a proxy", addr: ":8083", access: console.Access{UserHeader: "X-User", Origin: "https://herald.example"}},
		{name: "open to all", addr: ":8083", wrong: "anybody could use the console"},
		{name: "another host", addr: "10.0.0.1:8083", wrong: "anybody could use the console"},
		{name: "no port", addr: "127.0.0.1", wrong: "--addr must be a host and a port"},
		{name: "header alone", addr: ":8083", access: console.Access{UserHeader: "X-User"}, wrong: "go together"},
		{name: "origin alone", addr: "127.0.0.1:8083", access: console.Access{Origin: "https://herald.example"}, wrong: "go together"},
		{name: "origin with a path", addr: ":8083", access: console.Access{UserHeader: "X-User", Origin: "https://herald.example/"}, wrong: "must be a scheme and a host"},
		{name: "Web UI", addr: "127.0.0.1:8083", access: console.Access{WebUI: "http://localhost:8233"}},
		{name: "any page", addr: "127.0.0.1:8083", access: console.Access{WebUI: "*"}, wrong: "CONSOLE_WEB_UI_ORIGIN must be a scheme and a host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.access.Check(tt.addr)
			if tt.wrong == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.wrong)
		})
	}
}

// The console refuses requests of pages elsewhere, and of people without a name from the proxy.
func TestAccess(t *testing.T) {
	t.Parallel()

	loopback := console.Access{Actor: "ada"}
	proxied := console.Access{UserHeader: "X-User", Origin: "https://herald.example"}
	tests := []struct {
		name   string
		access console.Access
		method string
		host   string
		header map[string]string
		want   int
	}{
		{"loopback", loopback, http.MethodGet, "127.0.0.1:8083", nil, http.StatusOK},
		{"a name bound to the address", loopback, http.MethodGet, "evil.example:8083", nil, http.StatusForbidden},
		{"form of the console", loopback, http.MethodPost, "localhost:8083", map[string]string{"Origin": "http://localhost:8083"}, http.StatusOK},
		{"form of another page", loopback, http.MethodPost, "localhost:8083", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden},
		{"form of another site", loopback, http.MethodPost, "localhost:8083", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"behind a proxy", proxied, http.MethodGet, "10.0.0.1", map[string]string{"X-User": "ada"}, http.StatusOK},
		{"nobody", proxied, http.MethodGet, "10.0.0.1", nil, http.StatusForbidden},
		{"a name that cannot be printed", proxied, http.MethodGet, "10.0.0.1", map[string]string{"X-User": "a\tb"}, http.StatusForbidden},
		{"form of the public address", proxied, http.MethodPost, "10.0.0.1", map[string]string{"X-User": "ada", "Origin": "https://herald.example"}, http.StatusOK},
		{"form of another address", proxied, http.MethodPost, "10.0.0.1", map[string]string{"X-User": "ada", "Origin": "https://evil.example"}, http.StatusForbidden},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := console.New(console.Config{Access: tt.access, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler), Check: noCheck})
			request := httptest.NewRequestWithContext(t.Context(), tt.method, "/check", nil)
			request.Host = tt.host
			for name, value := range tt.header {
				request.Header.Set(name, value)
			}
			answer := httptest.NewRecorder()
			c.Handler().ServeHTTP(answer, request)
			require.Equal(t, tt.want, answer.Code, answer.Body.String())
		})
	}
}
