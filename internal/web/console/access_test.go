package console_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/internal/check"
	"herald/internal/codec"
	"herald/internal/operate"
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
		{name: "header alone", addr: ":8083", access: console.Access{UserHeader: "X-User"}, wrong: "set both"},
		{name: "origin alone", addr: "127.0.0.1:8083", access: console.Access{Origin: "https://herald.example"}, wrong: "set both"},
		{name: "origin with a path", addr: ":8083", access: console.Access{UserHeader: "X-User", Origin: "https://herald.example/"},
			wrong: "must be a scheme and a host"},
		{name: "Web UI", addr: "127.0.0.1:8083", access: console.Access{WebUI: "http://localhost:8233"}},
		{name: "any page", addr: "127.0.0.1:8083", access: console.Access{WebUI: "*"},
			wrong: "CONSOLE_WEB_UI_ORIGIN must be a scheme and a host"},
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

// The console refuses requests of pages elsewhere, and of people without a name from the proxy. Everybody
// who may use it may decrypt payloads, by Temporal's CLI and by its Web UI.
func TestAccess(t *testing.T) {
	t.Parallel()

	const webUI, page, decode = "http://localhost:8233", "/check", "/codec/decode"
	loopback := console.Access{Actor: "ada", WebUI: webUI}
	proxied := console.Access{UserHeader: "X-User", Origin: "https://herald.example", WebUI: webUI}
	tests := []struct {
		name, path string
		access     console.Access
		method     string
		host       string
		header     map[string]string
		want       int
		allowed    string // Access-Control-Allow-Origin
	}{
		{"loopback", page, loopback, http.MethodGet, "127.0.0.1:8083", nil, http.StatusOK, ""},
		{"a name bound to the address", page, loopback, http.MethodGet, "evil.example:8083", nil, http.StatusForbidden, ""},
		{"form of the console", page, loopback, http.MethodPost, "localhost:8083", map[string]string{"Origin": "http://localhost:8083"},
			http.StatusOK, ""},
		{"form of another page", page, loopback, http.MethodPost, "localhost:8083", map[string]string{"Origin": "http://evil.example"},
			http.StatusForbidden, ""},
		{"form of another site", page, loopback, http.MethodPost, "localhost:8083", map[string]string{"Sec-Fetch-Site": "cross-site"},
			http.StatusForbidden, ""},
		{"form of the Web UI", page, loopback, http.MethodPost, "localhost:8083", map[string]string{"Origin": webUI}, http.StatusForbidden, ""},
		{"behind a proxy", page, proxied, http.MethodGet, "10.0.0.1", map[string]string{"X-User": "ada"}, http.StatusOK, ""},
		{"nobody", page, proxied, http.MethodGet, "10.0.0.1", nil, http.StatusForbidden, ""},
		{"a name that cannot be printed", page, proxied, http.MethodGet, "10.0.0.1", map[string]string{"X-User": "a\tb"}, http.StatusForbidden,
			""},
		{"form of the public address", page, proxied, http.MethodPost, "10.0.0.1",
			map[string]string{"X-User": "ada", "Origin": "https://herald.example"}, http.StatusOK, ""},
		{"form of another address", page, proxied, http.MethodPost, "10.0.0.1",
			map[string]string{"X-User": "ada", "Origin": "https://evil.example"}, http.StatusForbidden, ""},
		{"CLI", decode, loopback, http.MethodPost, "127.0.0.1:8083", nil, http.StatusOK, ""},
		{"Web UI", decode, loopback, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": webUI, "Sec-Fetch-Site": "cross-site"},
			http.StatusOK, webUI},
		{"Web UI that is not set", decode, console.Access{Actor: "ada"}, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": webUI},
			http.StatusForbidden, ""},
		{"payloads for another page", decode, loopback, http.MethodPost, "127.0.0.1:8083", map[string]string{"Origin": "http://evil.example"},
			http.StatusForbidden, ""},
		{"payloads for a name bound to the address", decode, loopback, http.MethodPost, "evil.example:8083", nil, http.StatusForbidden, ""},
		{"Web UI behind a proxy", decode, proxied, http.MethodPost, "10.0.0.1", map[string]string{"X-User": "ada", "Origin": webUI},
			http.StatusOK, webUI},
		{"payloads for nobody", decode, proxied, http.MethodPost, "10.0.0.1", map[string]string{"Authorization": "Bearer x"},
			http.StatusForbidden, ""},
		{"preflight of the Web UI", decode, proxied, http.MethodOptions, "10.0.0.1", map[string]string{"Origin": webUI}, http.StatusNoContent,
			webUI},
		{"preflight of another page", decode, proxied, http.MethodOptions, "10.0.0.1", map[string]string{"Origin": "http://evil.example"},
			http.StatusNoContent, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			keys, hidden := hiddenPayload(t)
			request := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(hidden))
			request.Host = tt.host
			for name, value := range tt.header {
				request.Header.Set(name, value)
			}
			got := ask(tt.access, keys, request)
			require.Equal(t, tt.want, got.Code, got.Body.String())
			require.Equal(t, tt.allowed, got.Header().Get("Access-Control-Allow-Origin"))
			require.Equal(t, tt.path == decode, slices.Contains(got.Header().Values("Vary"), "Origin"))
			require.Equal(t, tt.want == http.StatusOK && tt.path == decode, strings.Contains(got.Body.String(), "ImV2dC0xIg=="),
				"the payload in base64")
		})
	}
}

// The codec refuses payloads of a key that it lacks, and bodies that are too large.
func TestCodec(t *testing.T) {
	t.Parallel()

	_, hidden := hiddenPayload(t)
	for body, says := range map[string]string{hidden: `the key "a"`, strings.Repeat(" ", 7<<20): ""} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/codec/decode", strings.NewReader(body))
		got := ask(console.Access{Actor: "ada"}, codec.Codec{}, request)
		require.Equal(t, http.StatusBadRequest, got.Code)
		require.Contains(t, got.Body.String(), says)
	}
}

// ask sends a request to a console.
func ask(access console.Access, keys codec.Codec, request *http.Request) *httptest.ResponseRecorder {
	c := console.New(console.Config{
		Access: access, Key: []byte("key"), Logger: slog.New(slog.DiscardHandler), Codec: converter.NewPayloadCodecHTTPHandler(keys),
		Check: func(context.Context) check.Result { return check.Result{} },
	})
	answer := httptest.NewRecorder()
	c.Handler().ServeHTTP(answer, request)
	return answer
}

// hiddenPayload returns a codec, and payloads with an encrypted "evt-1", as JSON.
func hiddenPayload(t *testing.T) (codec.Codec, string) {
	t.Helper()
	keys := must(codec.New("a:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", true))(t)
	plain := must(converter.GetDefaultDataConverter().ToPayload("evt-1"))(t)
	hidden := must(keys.Encode([]*commonpb.Payload{plain}))(t)
	return keys, string(must(protojson.Marshal(&commonpb.Payloads{Payloads: hidden}))(t))
}

// Under load, open pages stop refreshing first. Then the console refuses pages, too, until others have loaded.
func TestBusyConsole(t *testing.T) {
	t.Parallel()

	d := newDesk(t)
	loading, release := make(chan struct{}), make(chan struct{})
	d.pollers = func(context.Context) (operate.Pollers, error) {
		loading <- struct{}{}
		<-release
		return operate.Pollers{}, nil
	}
	refresh := func() int {
		request := must(http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+"/deliveries", nil))(t)
		request.Header.Set("Herald-Refresh", "1")
		status, _ := d.do(request)
		return status
	}
	var pages sync.WaitGroup
	open := func(n int) {
		for range n {
			pages.Go(func() {
				if answer, err := http.Get(d.server.URL); err == nil {
					_ = answer.Body.Close()
				}
			})
			<-loading
		}
	}
	look := func() int {
		status, _ := d.get("/deliveries")
		return status
	}

	open(console.MaxRefreshing - 1)
	require.Equal(t, http.StatusOK, refresh())
	open(1)
	require.Equal(t, http.StatusTooManyRequests, refresh())
	require.Equal(t, http.StatusOK, look())
	open(console.MaxInFlight - console.MaxRefreshing)
	require.Equal(t, http.StatusTooManyRequests, look())
	close(release)
	pages.Wait()
	require.Eventually(t, func() bool { return refresh() == http.StatusOK }, time.Minute, 10*time.Millisecond)
}
