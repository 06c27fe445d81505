package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/sandbox"
)

// inbound waits for the text that the gateway gets.
func (g gateway) inbound(t *testing.T) (from, to, body, optOutType string) {
	t.Helper()
	form := g.callback(t, "token", "https://herald.example.com")
	require.Equal(t, "AC123", form.Get("AccountSid"))
	require.Regexp(t, `^SM[0-9a-f]{32}$`, form.Get("MessageSid"))
	return form.Get("From"), form.Get("To"), form.Get("Body"), form.Get("OptOutType")
}

func TestTexts(t *testing.T) {
	t.Parallel()

	for body, kind := range map[string]string{
		"STOP": "STOP", " stop\n": "STOP", "Unsubscribe": "STOP", "yes": "START", "UNSTOP": "START", "Help": "HELP",
		"please stop": "", "Table for 4?": "",
	} {
		g := startWithGateway(t, `{"lost":true}`, nil)
		g.accept(t, smsCall(goodSMS()))
		answered, err := sandbox.SendText(t.Context(), g.URL, sandbox.Text{From: "+15551234567", Body: body})
		require.NoError(t, err)
		require.Equal(t, kind, answered.OptOutType)
		require.Equal(t, http.StatusNoContent, answered.Status)
		from, to, got, optOutType := g.inbound(t)
		require.Equal(t, []string{"+15551234567", "+15005550006", body, kind}, []string{from, to, got, optOutType})
	}
}

// After STOP a number gets nothing, and nobody else is concerned, until START.
func TestTextStop(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, `{"lost":true}`, nil)
	g.accept(t, smsCall(goodSMS()))
	text := func(body string) {
		_, err := sandbox.SendText(t.Context(), g.URL, sandbox.Text{From: "+15551234567", Body: body})
		require.NoError(t, err)
		_, _, got, _ := g.inbound(t)
		require.Equal(t, body, got)
	}
	refused := func() bool {
		status, _, body := g.box.answer(t, smsCall(goodSMS()))
		require.Equal(t, status == http.StatusBadRequest, strings.Contains(body, `"code":21610`))
		return status == http.StatusBadRequest
	}
	text("STOP")
	require.True(t, refused())
	text("HELP")
	require.True(t, refused())
	g.accept(t, smsCall(smsWith("To", "+393331234567")))
	text("START")
	require.False(t, refused())
}

// A gateway behind a proxy knows nothing of what its public URL has before the path.
func TestTextThroughAProxy(t *testing.T) {
	t.Parallel()

	g := startWithGateway(t, atOnce, nil)
	g.accept(t, smsCall(smsWith("StatusCallback", "https://example.com/herald/webhooks/twilio?delivery_id=1")))
	for range 2 {
		require.NotEmpty(t, g.callback(t, "token", "https://example.com/herald").Get("MessageStatus"))
	}
	_, err := sandbox.SendText(t.Context(), g.URL, sandbox.Text{From: "+15551234567", Body: "STOP"})
	require.NoError(t, err)
	require.Equal(t, "STOP", g.callback(t, "token", "https://example.com/herald").Get("OptOutType"))
}

func TestTextsRefused(t *testing.T) {
	t.Parallel()

	const refusing = http.StatusForbidden
	without := startWithGateway(t, "", nil)
	with := startWithGateway(t, `{"lost":true}`, func(string) int { return refusing })
	with.accept(t, smsCall(goodSMS()))
	for _, tt := range []struct {
		name      string
		sandbox   string
		text      sandbox.Text
		complaint string
	}{
		{name: "no gateway", sandbox: start(t).URL, text: sandbox.Text{From: "+15551234567", Body: "STOP"}, complaint: "--gateway"},
		{name: "no message before", sandbox: without.URL, text: sandbox.Text{From: "+15551234567", Body: "STOP"}, complaint: "PUBLIC_URL"},
		{name: "the gateway refuses", sandbox: with.URL, text: sandbox.Text{From: "+15551234567", Body: "STOP"}, complaint: "answered 403"},
		{name: "no number", sandbox: with.URL, text: sandbox.Text{From: "Ada", Body: "STOP"}, complaint: "from must"},
		{name: "no text", sandbox: with.URL, text: sandbox.Text{From: "+15551234567"}, complaint: "body must"},
		{name: "text too long", sandbox: with.URL, text: sandbox.Text{From: "+15551234567", Body: strings.Repeat("a", 1601)}, complaint: "body must"},
		{name: "no sandbox", sandbox: "http://127.0.0.1:1", text: sandbox.Text{From: "+15551234567", Body: "STOP"}, complaint: "ask the sandbox"},
	} {
		_, err := sandbox.SendText(t.Context(), tt.sandbox, tt.text)
		require.ErrorContains(t, err, tt.complaint, tt.name)
	}
	status, _, body := without.box.answer(t, call{method: http.MethodPost, path: "/texts", body: `{"form":""}`})
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, body, "form")
}
