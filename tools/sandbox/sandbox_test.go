package sandbox_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

// box is a running sandbox.
type box struct {
	URL    string
	ledger string
}

func start(t *testing.T) box {
	t.Helper()
	return startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson")})
}

func startWith(t *testing.T, cfg sandbox.Config) box {
	t.Helper()
	server, err := sandbox.New(cfg)
	require.NoError(t, err)
	listening := httptest.NewServer(server)
	t.Cleanup(func() {
		listening.Close()
		require.NoError(t, server.Close())
	})
	return box{URL: listening.URL, ledger: cfg.Ledger}
}

// call is one request. An empty authorization or content type sends no such header.
type call struct {
	method, path, authorization, contentType, body string
	header                                         map[string]string
}

func (b box) do(t *testing.T, c call) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), c.method, b.URL+c.path, strings.NewReader(c.body))
	require.NoError(t, err)
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	if c.authorization != "" {
		request.Header.Set("Authorization", c.authorization)
	}
	if c.contentType != "" {
		request.Header.Set("Content-Type", c.contentType)
	}
	return http.DefaultClient.Do(request)
}

// answer makes a call and returns the answer. It fails the test if there is no answer.
func (b box) answer(t *testing.T, c call) (status int, header http.Header, body string) {
	t.Helper()
	response, err := b.do(t, c)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(read)
}

// entries gets the ledger over HTTP.
func (b box) entries(t *testing.T, query string) []sandbox.Entry {
	t.Helper()
	status, _, body := b.answer(t, call{method: http.MethodGet, path: "/ledger" + query})
	require.Equal(t, http.StatusOK, status, body)
	return parse(t, body)
}

func parse(t *testing.T, lines string) []sandbox.Entry {
	t.Helper()
	entries := []sandbox.Entry{}
	scanner := bufio.NewScanner(strings.NewReader(lines))
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var entry sandbox.Entry
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &entry))
		entries = append(entries, entry)
	}
	require.NoError(t, scanner.Err())
	return entries
}

// only returns the ledger's only entry, without its time.
func (b box) only(t *testing.T) sandbox.Entry {
	t.Helper()
	entries := b.entries(t, "")
	require.Len(t, entries, 1)
	require.False(t, entries[0].Time.IsZero())
	entries[0].Time = time.Time{}
	return entries[0]
}

// sample is a call and the entry that the call adds to the ledger.
type sample struct {
	call  call
	entry sandbox.Entry
}

// accepted returns one call for each provider that the provider accepts.
func accepted() map[notification.Channel]sample {
	return map[notification.Channel]sample{
		notification.Email: {mailCall(goodMail()), sandbox.Entry{
			Channel: notification.Email, DeliveryID: "evt-1-staff10-EMAIL", Recipient: "ada@example.com",
			Title: "New reservation", Body: "<p>Table for 4</p>", Text: "Table for 4", Status: http.StatusAccepted, Accepted: true,
		}},
		notification.SMS: {smsCall(goodSMS()), sandbox.Entry{
			Channel: notification.SMS, DeliveryID: "evt-1-staff10-SMS", Recipient: "+15551234567",
			Body: "Table for 4", Status: http.StatusCreated, Accepted: true,
		}},
		notification.Push: {pushCall(goodPush()), sandbox.Entry{
			Channel: notification.Push, DeliveryID: "evt-1-staff10-PUSH", Recipient: "device-1",
			Title: "New reservation", Body: "Table for 4", Status: http.StatusOK, Accepted: true, CollapseKey: "evt-1-staff10-PUSH",
		}},
		notification.Slack: {slackCall(slackPath, goodPost), sandbox.Entry{
			Channel: notification.Slack, DeliveryID: "evt-1-staff10-SLACK", Recipient: slackPath,
			Title: "New reservation", Body: "*New reservation*\nTable for 4", Status: http.StatusOK, Accepted: true,
		}},
		notification.Webhook: {hookCall("/hooks/x", "evt-1-staff10-WEBHOOK", time.Now(), goodHook), sandbox.Entry{
			Channel: notification.Webhook, DeliveryID: "evt-1-staff10-WEBHOOK", Recipient: "/hooks/x",
			Title: "New reservation", Body: "Table for 4", Status: http.StatusNoContent, Accepted: true,
		}},
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	for channel, tt := range accepted() {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, tt.call)
			require.Equal(t, tt.entry.Status, status, body)
			require.Equal(t, tt.entry, b.only(t))
		})
	}
}

func TestBodyTooLarge(t *testing.T) {
	t.Parallel()
	for channel, tt := range accepted() {
		t.Run(string(channel), func(t *testing.T) {
			t.Parallel()
			b := start(t)
			tt.call.body += strings.Repeat(" ", 1<<20)
			status, _, _ := b.answer(t, tt.call)
			require.Equal(t, http.StatusRequestEntityTooLarge, status)
			require.Equal(t, sandbox.Entry{Channel: channel, Status: status}, b.only(t))
		})
	}
}

func TestUnknownPaths(t *testing.T) {
	t.Parallel()
	b := start(t)
	tests := []struct {
		method, path string
		want         int
	}{
		{method: http.MethodGet, path: "/healthz", want: http.StatusOK},
		{method: http.MethodGet, path: "/nothing", want: http.StatusNotFound},
		{method: http.MethodPost, path: "/v3/mail/sendx", want: http.StatusNotFound},
		{method: http.MethodGet, path: "/v3/mail/send", want: http.StatusMethodNotAllowed},
	}
	for _, tt := range tests {
		status, _, _ := b.answer(t, call{method: tt.method, path: tt.path})
		require.Equal(t, tt.want, status, "%s %s", tt.method, tt.path)
	}
	require.Empty(t, b.entries(t, ""))
}
