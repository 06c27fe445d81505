package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/internal/check"
	"herald/internal/codec"
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
			request := httptest.NewRequestWithContext(t.Context(), tt.method, "/check", nil)
			answer := ask(console.Config{Access: tt.access}, request, tt.host, tt.header)
			require.Equal(t, tt.want, answer.Code, answer.Body.String())
		})
	}
}

// ask sends a request of a host to a console.
func ask(cfg console.Config, request *http.Request, host string, header map[string]string) *httptest.ResponseRecorder {
	cfg.Key, cfg.Logger = []byte("key"), slog.New(slog.DiscardHandler)
	cfg.Check = func(context.Context) check.Result { return check.Result{} }
	request.Host = host
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	console.New(cfg).Handler().ServeHTTP(answer, request)
	return answer
}

// Everybody who may use the console may decrypt payloads, by Temporal's CLI and by its Web UI. Other
// pages may not.
func TestCodec(t *testing.T) {
	t.Parallel()

	const webUI = "http://localhost:8233"
	loopback := console.Access{Actor: "ada", WebUI: webUI}
	proxied := console.Access{UserHeader: "X-User", Origin: "https://herald.example", WebUI: webUI}
	tests := []struct {
		name    string
		access  console.Access
		method  string
		host    string
		header  map[string]string
		want    int
		allowed string // Access-Control-Allow-Origin
	}{
		{"CLI", loopback, http.MethodPost, "127.0.0.1:8083", nil, http.StatusOK, ""},
		{"Web UI", loopback, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": webUI, "Sec-Fetch-Site": "cross-site"}, http.StatusOK, webUI},
		{"Web UI that is not set", console.Access{Actor: "ada"}, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": webUI}, http.StatusForbidden, ""},
		{"another page", loopback, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": "http://evil.example"}, http.StatusForbidden, ""},
		{"a name bound to the address", loopback, http.MethodPost, "evil.example:8083", nil, http.StatusForbidden, ""},
		{"behind a proxy", proxied, http.MethodPost, "10.0.0.1", map[string]string{"X-User": "ada", "Origin": webUI}, http.StatusOK, webUI},
		{"nobody", proxied, http.MethodPost, "10.0.0.1", map[string]string{"Authorization": "Bearer x"}, http.StatusForbidden, ""},
		{"preflight of the Web UI", proxied, http.MethodOptions, "10.0.0.1", map[string]string{"Origin": webUI}, http.StatusNoContent, webUI},
		{"preflight of another page", proxied, http.MethodOptions, "10.0.0.1", map[string]string{"Origin": "http://evil.example"}, http.StatusNoContent, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			keys, hidden := hiddenPayload(t)
			got := askCodec(t, tt.access, keys, tt.method, tt.host, tt.header, hidden)
			require.Equal(t, tt.want, got.Code, got.Body.String())
			require.Equal(t, tt.allowed, got.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, tt.want == http.StatusOK, strings.Contains(got.Body.String(), "ImV2dC0xIg=="), "the payload in base64")
		})
	}

	_, hidden := hiddenPayload(t)
	got := askCodec(t, loopback, codec.Codec{}, http.MethodPost, "127.0.0.1", nil, hidden)
	require.Equal(t, http.StatusBadRequest, got.Code)
	require.Contains(t, got.Body.String(), `the key "a"`)
	require.Equal(t, http.StatusBadRequest, askCodec(t, loopback, codec.Codec{}, http.MethodPost, "127.0.0.1", nil, strings.Repeat(" ", 7<<20)).Code)
}

// hiddenPayload returns a codec, and payloads with an encrypted "evt-1", as JSON.
func hiddenPayload(t *testing.T) (codec.Codec, string) {
	t.Helper()
	keys := must(codec.New("a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", true))(t)
	plain := must(converter.GetDefaultDataConverter().ToPayload("evt-1"))(t)
	hidden := must(keys.Encode([]*commonpb.Payload{plain}))(t)
	return keys, string(must(protojson.Marshal(&commonpb.Payloads{Payloads: hidden}))(t))
}

func askCodec(t *testing.T, access console.Access, keys codec.Codec, method, host string, header map[string]string, body string) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "/codec/decode", strings.NewReader(body))
	return ask(console.Config{Access: access, Codec: converter.NewPayloadCodecHTTPHandler(keys)}, request, host, header)
}
