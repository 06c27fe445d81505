package slack_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"herald/internal/channel/channeltest"
	"herald/internal/channel/slack"
	"herald/internal/notification"
)

// deliver sends msg to a server that accepts it, and returns what it got.
func deliver(t *testing.T, msg notification.Message) payload {
	t.Helper()
	var got payload
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, _ = read(r, string(body))
		_, _ = io.WriteString(w, "ok")
	}))
	t.Cleanup(server.Close)
	msg.To = server.URL + "/services/T/B/X"
	_, err := newSender(t, server.URL, time.Minute).Send(t.Context(), msg)
	require.NoError(t, err)
	return got
}

func TestSendEscapes(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.Title, msg.Body = "<!channel> & Co", "<@U123> said 1 > 0"
	got := deliver(t, msg)

	require.Equal(t, "&lt;!channel&gt; &amp; Co", got.Text)
	require.Len(t, got.Blocks, 1)
	require.Equal(t, "section", got.Blocks[0].Type)
	require.Equal(t, "mrkdwn", got.Blocks[0].Text.Type)
	require.True(t, got.Blocks[0].Text.Verbatim, "else Slack makes links of addresses in a name")
	require.Equal(t, "*&lt;!channel&gt; &amp; Co*\n&lt;@U123&gt; said 1 &gt; 0", got.Blocks[0].Text.Text)
}

func TestSendLongBody(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.Body = strings.Repeat("a&é", 10_000)
	got := deliver(t, msg)

	require.Equal(t, msg.DeliveryID, got.Blocks[0].BlockID)
	var text strings.Builder
	for i, block := range got.Blocks {
		require.LessOrEqual(t, utf8.RuneCountInString(block.Text.Text), 3000)
		require.Equal(t, i == 0, block.BlockID != "", "only the first has the delivery id")
		text.WriteString(block.Text.Text)
	}
	require.Equal(t, "*"+msg.Title+"*\n"+strings.Repeat("a&amp;é", 10_000), text.String())
}

func TestSendWithoutTitle(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.Title = ""
	require.Equal(t, msg.Body, deliver(t, msg).Blocks[0].Text.Text)
}

func TestSendLongDeliveryID(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.DeliveryID = strings.Repeat("a", 256)
	require.Len(t, deliver(t, msg).Blocks[0].BlockID, 64)
}

func TestSendCodes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		status int
		body   string
		class  notification.FailureClass
		code   string
	}{
		{400, "invalid_payload", notification.Refused, "invalid_payload"},
		{403, "action_prohibited\n", notification.Refused, "action_prohibited"},
		{404, "no_service", notification.Refused, "no_service"},
		{410, "channel_is_archived", notification.Refused, "channel_is_archived"},
		{429, "rate_limited", notification.Busy, "rate_limited"},
		{500, "rollup_error", notification.Ambiguous, "rollup_error"},
		{404, "ada_lovelace", notification.Refused, ""}, // no code of Slack
		{200, "no_service", notification.Ambiguous, "unexpected answer"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", tt.status, tt.body), func(t *testing.T) {
			t.Parallel()

			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			t.Cleanup(server.Close)
			msg := channeltest.Message(1)
			msg.To = server.URL + "/services/T/B/X"
			_, err := newSender(t, server.URL, time.Minute).Send(t.Context(), msg)
			require.Equal(t, &notification.ProviderError{Provider: "slack", Class: tt.class, Status: tt.status, Code: tt.code}, err)
		})
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ to, code string }{
		"empty":                       {"", "invalid webhook"},
		"no URL":                      {"://", "invalid webhook"},
		"relative":                    {"/services/T/B/X", "invalid webhook"},
		"opaque":                      {"mailto:ada@hooks.slack.com", "invalid webhook"},
		"with a user":                 {"https://hooks.slack.com@evil.example/x", "invalid webhook"},
		"with a user of ours":         {"https://ada@hooks.slack.com/services/T/B/X", "invalid webhook"},
		"another host":                {"https://evil.example/services/T/B/X", "host not allowed"},
		"a subdomain":                 {"https://x.hooks.slack.com/services/T/B/X", "host not allowed"},
		"a name that ends alike":      {"https://evilhooks.slack.com/services/T/B/X", "host not allowed"},
		"the cloud's metadata":        {"http://169.254.169.254/latest/meta-data", "host not allowed"},
		"loopback that is not listed": {"http://127.0.0.1:8080/x", "host not allowed"},
		"loopback on another port":    {"http://127.0.0.1:9091/x", "host not allowed"},
		"Slack without TLS":           {"http://hooks.slack.com/services/T/B/X", "webhook is not https"},
		"another scheme":              {"gopher://hooks.slack.com/services/T/B/X", "webhook is not https"},
		"listed, but not loopback":    {"http://10.0.0.7:9090/x", "webhook is not https"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			sender := channeltest.NewSender(t, &slack.Settings{AllowedHosts: []string{"hooks.slack.com", "127.0.0.1:9090", "10.0.0.7"}}, time.Minute)
			msg := channeltest.Message(1)
			msg.To = tt.to
			_, err := sender.Send(t.Context(), msg)
			require.Equal(t, &notification.ProviderError{Provider: "slack", Class: notification.Refused, Code: tt.code}, err)
		})
	}
}

func TestSendRefusesLongMessages(t *testing.T) {
	t.Parallel()

	sender := channeltest.NewSender(t, &slack.Settings{AllowedHosts: []string{"127.0.0.1:1"}}, time.Minute)
	tests := map[string]func(*notification.Message){
		"title": func(m *notification.Message) { m.Title = strings.Repeat("x", 3000) },
		"body":  func(m *notification.Message) { m.Body = strings.Repeat("x", 50*3000) },
	}
	for name, lengthen := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			msg := channeltest.Message(1)
			msg.To = "http://127.0.0.1:1/services/T/B/X"
			lengthen(&msg)
			_, err := sender.Send(t.Context(), msg)
			require.Equal(t, &notification.ProviderError{Provider: "slack", Class: notification.Refused, Code: "message too long"}, err)
		})
	}
}
