package sendgrid_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/address"
	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/email"
	"herald/internal/channel/email/sendgrid"
	"herald/internal/notification"
)

const key = "SG.secret-key"

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, _ string) {
			msg.To = fmt.Sprintf("ada%d@example.com", n)
		},
		Success:      channeltest.Answer{Status: http.StatusAccepted, Header: map[string]string{"X-Message-Id": "abc.123"}},
		ProviderID:   "abc.123",
		EmptySuccess: true,
		Secrets:      []string{key},
	})
}

func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	return channeltest.NewSender(t,
		&sendgrid.Settings{APIKey: key, BaseURL: baseURL, From: email.From{Address: "herald@example.com", Name: "Herald"}}, timeout)
}

// request is SendGrid's request, as documented.
type request struct {
	From             struct{ Email, Name string }
	Subject          string
	Personalizations []struct {
		To         []struct{ Email, Name string }
		CustomArgs map[string]string `json:"custom_args"`
	}
	Content    []struct{ Type, Value string }
	Categories []string
	Headers    map[string]string
}

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

// A mail without text has its title as text, and brackets are no HTML.
func TestSendPlainText(t *testing.T) {
	t.Parallel()

	brackets := strings.Repeat(">", 64<<10)
	for body, want := range map[string]string{
		`<img src="https://example.com/logo.png">`: message().Title,
		"<p>1 > 0</p>" + brackets:                  "1 > 0\n\n" + brackets,
	} {
		msg := message()
		msg.Body = body
		require.Equal(t, want, deliver(t, msg).Content[0].Value)
	}
}

// The address is in the form that SendGrid takes, whatever its spelling in the directory.
func TestSendToASCII(t *testing.T) {
	t.Parallel()

	for written, want := range map[string]string{
		" ada@example.com\u00a0": "ada@example.com", "Anna@Müller.example": "Anna@xn--mller-kva.example",
		"ada.@docomo.example": `"ada."@docomo.example`,
	} {
		msg := message()
		msg.To = written
		require.Equal(t, want, deliver(t, msg).Personalizations[0].To[0].Email)
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	channeltest.RunRefusals(t, newSender(t, channeltest.Nowhere, time.Minute), "sendgrid", message(), map[string]channeltest.Refusal{
		"line feed in the title":       {Change: func(m *notification.Message) { m.Title = "a\nBcc: eve@example.com" }, Code: "header injection"},
		"carriage return in the title": {Change: func(m *notification.Message) { m.Title = "a\rb" }, Code: "header injection"},
		"no address":                   {Change: func(m *notification.Message) { m.To = "" }, Code: "invalid address: that is empty"},
		"no domain": {Change: func(m *notification.Message) { m.To = "ada" },
			Code: "invalid address: " + string(address.NoAt)},
		"address with a name": {Change: func(m *notification.Message) { m.To = "Ada <ada@example.com>" },
			Code: "invalid address: " + string(address.HasSpace)},
		"two addresses": {Change: func(m *notification.Message) { m.To = "ada@example.com, eve@example.com" },
			Code: "invalid address: " + string(address.NoAt)},
		"address with a line break": {Change: func(m *notification.Message) { m.To = "ada@exam\r\nple.com" },
			Code: "invalid address: " + string(address.HasSpace)},
		"letters that SendGrid drops": {Change: func(m *notification.Message) { m.To = "jörg@example.com" }, Code: email.OnlyASCII},
		"no title":                    {Change: func(m *notification.Message) { m.Title = " " }, Code: "empty subject"},
		"no body":                     {Change: func(m *notification.Message) { m.Body = "\n" }, Code: "empty body"},
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

// An optional mail has the headers of RFC 8058, if there is a gateway. If SendGrid accepts our category,
// it counts mails by category.
func TestSendAddsUnsubscribeHeaders(t *testing.T) {
	t.Parallel()

	oneClick := map[string]string{
		"List-Unsubscribe":      "<" + channeltest.PublicURL + "/unsubscribe?token=1.offers>",
		"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	}
	tests := []struct {
		name       string
		category   string
		mandatory  bool
		nowhere    bool // no gateway
		headers    map[string]string
		categories []string
	}{
		{name: "optional", category: "offers", headers: oneClick, categories: []string{"offers"}},
		{name: "optional, without a category", headers: map[string]string{
			"List-Unsubscribe":      "<" + channeltest.PublicURL + "/unsubscribe?token=1.>",
			"List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
		}},
		{name: "mandatory", category: "bookings", mandatory: true, categories: []string{"bookings"}},
		{name: "no gateway", category: "offers", nowhere: true, categories: []string{"offers"}},
		{name: "a category that SendGrid refuses", category: "réservations", mandatory: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var got request
			url := channeltest.Answering(t, channeltest.Answer{Status: http.StatusAccepted}, func(_ *http.Request, body string) {
				_ = json.Unmarshal([]byte(body), &got)
			})
			sender := newSender(t, url, time.Minute)
			if tt.nowhere {
				var err error
				sender, err = (&sendgrid.Settings{
					APIKey: key, BaseURL: url, From: email.From{Address: "herald@example.com"},
				}).NewSender(channel.Process{Timeout: time.Minute, Slots: 1})
				require.NoError(t, err)
			}
			msg := message()
			msg.Category, msg.Optional = tt.category, !tt.mandatory
			_, err := sender.Send(t.Context(), msg)
			require.NoError(t, err)
			require.Equal(t, tt.headers, got.Headers)
			require.Equal(t, tt.categories, got.Categories)
		})
	}
}

func TestSettings(t *testing.T) {
	const address = "must be a mail address in ASCII, without a name"
	channeltest.RunSettings(t, channeltest.Environment{
		New: func() channeltest.SenderSettings { return &sendgrid.Settings{} },
		Whole: map[string]string{
			"SENDGRID_API_KEY": "hunter2", "SENDGRID_BASE_URL": "http://127.0.0.1:9090/", "EMAIL_FROM": "herald@example.com",
			"EMAIL_FROM_NAME": "Herald & Co",
		},
		Off:   "SENDGRID_API_KEY",
		Needs: []string{"SENDGRID_API_KEY", "EMAIL_FROM"},
		Right: []map[string]string{
			{},
			{"EMAIL_FROM": "herald@example.com"},
			{"SENDGRID_API_KEY": "hunter2", "EMAIL_FROM": "herald@example.com"},
		},
		Wrong: []channeltest.WrongSetting{
			{Key: "SENDGRID_API_KEY", Value: "hunter2\n", Want: channeltest.NotVisible},
			{Key: "SENDGRID_BASE_URL", Value: "api.sendgrid.com", Want: channeltest.NoURL},
			{Key: "SENDGRID_BASE_URL", Value: "http://sandbox:9090", Want: channeltest.Cleartext},
			{Key: "EMAIL_FROM", Value: "", Want: "is not set, but SENDGRID_API_KEY is"},
			{Key: "EMAIL_FROM", Value: "nonsense", Want: address},
			{Key: "EMAIL_FROM", Value: "Herald <herald@example.com>", Want: address},
			{Key: "EMAIL_FROM", Value: "élodie@example.com", Want: address},
			{Key: "EMAIL_FROM", Value: "a@example.com, b@example.com", Want: address},
			{Key: "EMAIL_FROM_NAME", Value: "Élodie", Want: "must be one line of ASCII"},
			{Key: "EMAIL_FROM_NAME", Value: "Herald\r\nBcc: x", Want: "must be one line of ASCII"},
		},
	})
}
