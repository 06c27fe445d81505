package sendgrid_test

import (
	"encoding/json"
	"net/http"
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

// deliver sends msg to a server that accepts it, and returns the received request.
func deliver(t *testing.T, msg notification.Message) request {
	t.Helper()
	var got request
	url := channeltest.Answering(t, channeltest.Answer{Status: http.StatusAccepted}, func(_ *http.Request, body string) {
		_ = json.Unmarshal([]byte(body), &got)
	})
	_, err := newSender(t, url, time.Minute).Send(t.Context(), msg)
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

	channeltest.RunRefusals(t, newSender(t, channeltest.Nowhere, time.Minute), "sendgrid", message(), map[string]channeltest.Refusal{
		"line feed in the title":       {Change: func(m *notification.Message) { m.Title = "a\nBcc: eve@example.com" }, Code: "header injection"},
		"carriage return in the title": {Change: func(m *notification.Message) { m.Title = "a\rb" }, Code: "header injection"},
		"no address":                   {Change: func(m *notification.Message) { m.To = "" }, Code: "invalid address"},
		"no domain":                    {Change: func(m *notification.Message) { m.To = "ada" }, Code: "invalid address"},
		"address with a name":          {Change: func(m *notification.Message) { m.To = "Ada <ada@example.com>" }, Code: "invalid address"},
		"two addresses":                {Change: func(m *notification.Message) { m.To = "ada@example.com, eve@example.com" }, Code: "invalid address"},
		"address with a line break":    {Change: func(m *notification.Message) { m.To = "ada@example.com\r\n" }, Code: "invalid address"},
		"no title":                     {Change: func(m *notification.Message) { m.Title = " " }, Code: "empty subject"},
		"no body":                      {Change: func(m *notification.Message) { m.Body = "\n" }, Code: "empty body"},
	})
}

func TestSendHonoursRateLimitReset(t *testing.T) {
	t.Parallel()

	in := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	tests := map[string]struct {
		status            int
		reset, retryAfter string
		atLeast, atMost   time.Duration
	}{
		"reset":              {status: 429, reset: in(10 * time.Minute), atLeast: time.Minute, atMost: 10 * time.Minute},
		"reset in the past":  {status: 429, reset: in(-time.Hour), atLeast: time.Second, atMost: time.Second},
		"far reset":          {status: 429, reset: in(24 * time.Hour), atLeast: 15 * time.Minute, atMost: 15 * time.Minute},
		"Retry-After first":  {status: 429, reset: in(10 * time.Minute), retryAfter: "3", atLeast: 3 * time.Second, atMost: 3 * time.Second},
		"garbage":            {status: 429, reset: "later"},
		"no limit was asked": {status: 400, reset: in(10 * time.Minute)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			answer := channeltest.Answer{Status: tt.status, Header: map[string]string{"X-RateLimit-Reset": tt.reset, "Retry-After": tt.retryAfter}}
			_, err := newSender(t, channeltest.Answering(t, answer, channeltest.Unseen), time.Minute).Send(t.Context(), message())

			var failure *notification.ProviderError
			require.ErrorAs(t, err, &failure)
			require.GreaterOrEqual(t, failure.RetryAfter, tt.atLeast)
			require.LessOrEqual(t, failure.RetryAfter, tt.atMost)
		})
	}
}
