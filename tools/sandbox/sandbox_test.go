package sandbox_test

import (
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

// expect makes a call that gets this status, and returns the body.
func (b box) expect(t *testing.T, want int, c call) string {
	t.Helper()
	status, _, body := b.answer(t, c)
	require.Equal(t, want, status, "%s %s: %s", c.method, c.path, body)
	return body
}

// get returns a page of the sandbox.
func (b box) get(t *testing.T, path string) string {
	t.Helper()
	return b.expect(t, http.StatusOK, call{method: http.MethodGet, path: path})
}

// entries returns the ledger's entries, without entries older than `since`.
func (b box) entries(t *testing.T, since time.Time) []sandbox.Entry {
	t.Helper()
	entries, err := sandbox.Client{URL: b.URL}.Entries(t.Context(), since)
	require.NoError(t, err)
	return entries
}

// all returns all entries of the ledger.
func (b box) all(t *testing.T) []sandbox.Entry {
	t.Helper()
	return b.entries(t, time.Time{})
}

// only returns the ledger's only entry, without its time.
func (b box) only(t *testing.T) sandbox.Entry {
	t.Helper()
	entries := b.all(t)
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

// answered is a call and its answer.
type answered struct {
	call   call
	status int
	body   string // regular expression
}

// requireAnswers makes each call at a new sandbox. The ledger must have it.
func requireAnswers(t *testing.T, calls map[string]answered) {
	t.Helper()
	for name, tt := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			require.Regexp(t, tt.body, b.expect(t, tt.status, tt.call))
			entry := b.only(t)
			require.Equal(t, tt.status, entry.Status)
			require.Equal(t, tt.status < 300, entry.Accepted)
		})
	}
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
			b.expect(t, tt.entry.Status, tt.call)
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
			b.expect(t, http.StatusRequestEntityTooLarge, tt.call)
			require.Equal(t, sandbox.Entry{Channel: channel, Status: http.StatusRequestEntityTooLarge}, b.only(t))
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
		b.expect(t, tt.want, call{method: tt.method, path: tt.path})
	}
	require.Empty(t, b.all(t))
}
