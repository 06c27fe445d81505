package console_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/internal/codec"
	"herald/internal/web/console"
)

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
	c := console.New(console.Config{Access: access, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler), Codec: converter.NewPayloadCodecHTTPHandler(keys)})
	request := httptest.NewRequestWithContext(t.Context(), method, "/codec/decode", strings.NewReader(body))
	request.Host = host
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer := httptest.NewRecorder()
	c.Handler().ServeHTTP(answer, request)
	return answer
}
