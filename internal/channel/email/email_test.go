package email_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/notification"
)

func message() notification.Message {
	msg := channeltest.Message(1)
	msg.To = "ada@example.com"
	return msg
}

// deliver sends msg to a server that accepts it, and returns what it got.
func deliver(t *testing.T, msg notification.Message) request {
	t.Helper()
	var got request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &got)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(server.Close)
	_, err := newSender(t, server.URL, time.Minute).Send(t.Context(), msg)
	require.NoError(t, err)
	return got
}

func TestSendComposes(t *testing.T) {
	t.Parallel()

	msg := message()
	msg.Name, msg.Title = "Lovelace, Ada; \r\nCountess", "Table & <chair>"
	msg.Body = `<h1>Hello</h1><p>Ada &amp; <a href="https://example.com/r/1">friends</a></p><p>Bye</p>`
	got := deliver(t, msg)

	require.Equal(t, "Table & <chair>", got.Subject)
	require.Equal(t, "herald@example.com", got.From.Email)
	require.Equal(t, "Herald", got.From.Name)
	require.Equal(t, "Lovelace Ada   Countess", got.Personalizations[0].To[0].Name)
	require.Equal(t, map[string]string{"delivery_id": msg.DeliveryID}, got.Personalizations[0].CustomArgs)
	require.Equal(t, "Hello\n\nAda & friends <https://example.com/r/1>\n\nBye", got.Content[0].Value)
	require.Equal(t, msg.Body, got.Content[1].Value)
}

func TestSendHTMLWithoutText(t *testing.T) {
	t.Parallel()

	msg := message()
	msg.Body = `<img src="https://example.com/logo.png">`
	require.Equal(t, msg.Title, deliver(t, msg).Content[0].Value)
}

func TestSendStrayBrackets(t *testing.T) {
	t.Parallel()

	msg := message()
	msg.Body = "<p>1 > 0</p>" + strings.Repeat(">", 64<<10)
	require.Equal(t, "1 > 0\n\n"+strings.Repeat(">", 64<<10), deliver(t, msg).Content[0].Value)
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		change func(*notification.Message)
		code   string
	}{
		"line feed in the title":       {func(m *notification.Message) { m.Title = "a\nBcc: eve@example.com" }, "header injection"},
		"carriage return in the title": {func(m *notification.Message) { m.Title = "a\rb" }, "header injection"},
		"no address":                   {func(m *notification.Message) { m.To = "" }, "invalid address"},
		"no domain":                    {func(m *notification.Message) { m.To = "ada" }, "invalid address"},
		"address with a name":          {func(m *notification.Message) { m.To = "Ada <ada@example.com>" }, "invalid address"},
		"two addresses":                {func(m *notification.Message) { m.To = "ada@example.com, eve@example.com" }, "invalid address"},
		"address with a line break":    {func(m *notification.Message) { m.To = "ada@example.com\r\n" }, "invalid address"},
		"no title":                     {func(m *notification.Message) { m.Title = " " }, "empty subject"},
		"no body":                      {func(m *notification.Message) { m.Body = "\n" }, "empty body"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			msg := message()
			tt.change(&msg)
			receipt, err := newSender(t, unreachable, time.Minute).Send(t.Context(), msg)

			require.Equal(t, &notification.ProviderError{Provider: "sendgrid", Class: notification.Refused, Code: tt.code}, err)
			require.Equal(t, notification.Receipt{}, receipt)
		})
	}
}

// unreachable is where nobody listens, so that a message that is sent fails.
const unreachable = "http://127.0.0.1:1"

func TestSendHonoursRateLimitReset(t *testing.T) {
	t.Parallel()

	in := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	tests := map[string]struct {
		status            int
		reset, retryAfter string
		atLeast, atMost   time.Duration
	}{
		"reset":              {429, in(10 * time.Minute), "", time.Minute, 10 * time.Minute},
		"reset in the past":  {429, in(-time.Hour), "", time.Second, time.Second},
		"far reset":          {429, in(24 * time.Hour), "", 15 * time.Minute, 15 * time.Minute},
		"Retry-After first":  {429, in(10 * time.Minute), "3", 3 * time.Second, 3 * time.Second},
		"garbage":            {429, "later", "", 0, 0},
		"no limit was asked": {400, in(10 * time.Minute), "", 0, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-RateLimit-Reset", tt.reset)
				w.Header().Set("Retry-After", tt.retryAfter)
				w.WriteHeader(tt.status)
			}))
			t.Cleanup(server.Close)
			_, err := newSender(t, server.URL, time.Minute).Send(t.Context(), message())

			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.GreaterOrEqual(t, failure.RetryAfter, tt.atLeast)
			require.LessOrEqual(t, failure.RetryAfter, tt.atMost)
		})
	}
}
