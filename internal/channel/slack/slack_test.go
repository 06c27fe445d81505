package slack_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/channel/channeltest"
	"herald/internal/channel/slack"
	"herald/internal/config/environment"
	"herald/internal/notification"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, newSender, channeltest.HTTP{
		Address: func(msg *notification.Message, n int, baseURL string) {
			msg.To = fmt.Sprintf("%s/services/T0/B0/secret%04d", baseURL, n)
		},
		Success:    channeltest.Answer{Status: http.StatusOK, Body: "ok"},
		Exceptions: map[int]notification.FailureClass{http.StatusForbidden: notification.Refused}, // the webhook is wrong
	})
}

// newSender allows the loopback host of baseURL.
func newSender(t *testing.T, baseURL string, timeout time.Duration) channel.Sender {
	t.Helper()
	base, err := url.Parse(baseURL)
	require.NoError(t, err)
	return channeltest.NewSender(t, &slack.Settings{AllowedHosts: []string{"hooks.slack.com", base.Host}}, timeout)
}

// payload is Slack's payload, as documented.
type payload struct {
	Text   string
	Blocks []struct {
		Type    string
		BlockID string `json:"block_id"`
		Text    struct {
			Type, Text string
			Verbatim   bool
		}
	}
}

func read(r *http.Request, body string) (payload, error) {
	var sent payload
	switch err := json.Unmarshal([]byte(body), &sent); {
	case err != nil:
		return payload{}, err
	case r.Method != http.MethodPost || len(sent.Blocks) == 0:
		return payload{}, errors.New("no message")
	}
	return sent, nil
}

// deliver sends msg to a server that accepts it, and returns the received payload.
func deliver(t *testing.T, msg notification.Message) payload {
	t.Helper()
	var got payload
	url := channeltest.Answering(t, channeltest.Answer{Status: http.StatusOK, Body: "ok"}, func(r *http.Request, body string) {
		got, _ = read(r, body)
	})
	msg.To = url + "/services/T/B/X"
	_, err := newSender(t, url, time.Minute).Send(t.Context(), msg)
	require.NoError(t, err)
	return got
}

// A title is plain text. A body is in Slack's markup: planning escaped its data.
func TestSendText(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct{ title, url, body, want string }{
		{title: "<!channel> & Co", body: "<https://x.example/?a=1&amp;b=2|Open> &lt;!here&gt;",
			want: "*&lt;!channel&gt; &amp; Co*\n<https://x.example/?a=1&amp;b=2|Open> &lt;!here&gt;"},
		{title: "A > B", url: "https://x.example/?a=1&b=|2", body: "Hi", want: "*<https://x.example/?a=1&amp;b=%7C2|A &gt; B>*\nHi"},
		{url: "https://x.example/", body: "Hi", want: "*<https://x.example/|Open>*\nHi"},
	} {
		msg := channeltest.Message(1)
		msg.Title, msg.URL, msg.Body = tt.title, tt.url, tt.body
		got := deliver(t, msg)
		require.Len(t, got.Blocks, 1)
		require.Equal(t, "section", got.Blocks[0].Type)
		require.Equal(t, "mrkdwn", got.Blocks[0].Text.Type)
		require.True(t, got.Blocks[0].Text.Verbatim, "else Slack finds mentions in a name")
		require.Equal(t, tt.want, got.Blocks[0].Text.Text)
		require.NotContains(t, got.Text, "<")
	}
}

// Neither a link nor an escaped character is cut.
func TestSendLongBody(t *testing.T) {
	t.Parallel()

	link := "<https://x.example/?a=1&amp;b=2|Open it>"
	msg := channeltest.Message(1)
	msg.Body = strings.Repeat("a&amp;é"+link, 1500)
	got := deliver(t, msg)

	require.Equal(t, msg.DeliveryID, got.Blocks[0].BlockID)
	var text strings.Builder
	for i, block := range got.Blocks {
		require.LessOrEqual(t, utf8.RuneCountInString(block.Text.Text), 3000)
		require.Equal(t, i == 0, block.BlockID != "", "only the first has the delivery id")
		require.Equal(t, strings.Count(block.Text.Text, "<"), strings.Count(block.Text.Text, ">"))
		require.Equal(t, strings.Count(block.Text.Text, "&"), strings.Count(block.Text.Text, "&amp;"))
		text.WriteString(block.Text.Text)
	}
	require.Equal(t, "*"+msg.Title+"*\n"+msg.Body, text.String())
}

func TestSendWithoutTitleAndWithLongID(t *testing.T) {
	t.Parallel()

	msg := channeltest.Message(1)
	msg.Title, msg.DeliveryID = "", strings.Repeat("a", 256)
	block := deliver(t, msg).Blocks[0]
	require.Equal(t, msg.Body, block.Text.Text)
	require.Len(t, block.BlockID, 64)
}

func TestSendCodes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		status int
		body   string
		class  notification.FailureClass
		code   string
	}{
		{status: 400, body: "invalid_payload", class: notification.Refused, code: "invalid_payload"},
		{status: 403, body: "action_prohibited\n", class: notification.Refused, code: "action_prohibited"},
		{status: 404, body: "no_service", class: notification.Refused, code: "no_service"},
		{status: 410, body: "channel_is_archived", class: notification.Refused, code: "channel_is_archived"},
		{status: 429, body: "rate_limited", class: notification.Busy, code: "rate_limited"},
		{status: 500, body: "rollup_error", class: notification.Ambiguous, code: "rollup_error"},
		{status: 404, body: "ada_lovelace", class: notification.Refused}, // not a Slack code
		{status: 200, body: "no_service", class: notification.Ambiguous, code: "unexpected answer"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%d %s", tt.status, tt.body), func(t *testing.T) {
			t.Parallel()

			url := channeltest.Answering(t, channeltest.Answer{Status: tt.status, Body: tt.body}, channeltest.Unseen)
			msg := channeltest.Message(1)
			msg.To = url + "/services/T/B/X"
			_, err := newSender(t, url, time.Minute).Send(t.Context(), msg)
			require.Equal(t,
				&notification.ProviderError{Provider: "slack", Class: tt.class, Status: tt.status, Code: tt.code, Theirs: tt.status == 429}, err)
		})
	}
}

func TestSendRefusesLocally(t *testing.T) {
	t.Parallel()

	to := func(webhook string) func(*notification.Message) {
		return func(m *notification.Message) { m.To = webhook }
	}
	good := channeltest.Message(1)
	good.To = "http://127.0.0.1:9090/services/T/B/X"
	sender := channeltest.NewSender(t, &slack.Settings{AllowedHosts: []string{"hooks.slack.com", "127.0.0.1:9090", "10.0.0.7"}}, time.Minute)
	channeltest.RunRefusals(t, sender, "slack", good, map[string]channeltest.Refusal{
		"empty":               {Change: to(""), Code: "invalid webhook"},
		"no URL":              {Change: to("://"), Code: "invalid webhook"},
		"relative":            {Change: to("/services/T/B/X"), Code: "invalid webhook"},
		"opaque":              {Change: to("mailto:ada@hooks.slack.com"), Code: "invalid webhook"},
		"with a user":         {Change: to("https://hooks.slack.com@evil.example/x"), Code: "invalid webhook"},
		"with a user of ours": {Change: to("https://ada@hooks.slack.com/services/T/B/X"), Code: "invalid webhook"},
		"another host": {Change: to("https://evil.example/services/T/B/X"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"a subdomain": {Change: to("https://x.hooks.slack.com/services/T/B/X"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"a name that ends alike": {Change: to("https://evilhooks.slack.com/services/T/B/X"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"the cloud's metadata": {Change: to("http://169.254.169.254/latest/meta-data"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"loopback that is not listed": {Change: to("http://127.0.0.1:8080/x"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"loopback on another port": {Change: to("http://127.0.0.1:9091/x"),
			Code: "the host of the recipient's webhook is not in SLACK_ALLOWED_HOSTS"},
		"Slack without TLS":        {Change: to("http://hooks.slack.com/services/T/B/X"), Code: "webhook is not https"},
		"another scheme":           {Change: to("gopher://hooks.slack.com/services/T/B/X"), Code: "webhook is not https"},
		"listed, but not loopback": {Change: to("http://10.0.0.7:9090/x"), Code: "webhook is not https"},
		"long title":               {Change: func(m *notification.Message) { m.Title = strings.Repeat("x", 3000) }, Code: "message too long"},
		"long url": {Change: func(m *notification.Message) { m.URL = "https://x.example/" + strings.Repeat("&", 800) },
			Code: "message too long"},
		"long body": {Change: func(m *notification.Message) { m.Body = strings.Repeat("x", 50*3000) }, Code: "message too long"},
		"long link": {Change: func(m *notification.Message) { m.Body = "<https://x.example/" + strings.Repeat("x", 3000) + ">" },
			Code: "message too long"},
	})
}

func TestSettings(t *testing.T) {
	channeltest.RunSettings(t, channeltest.Environment{
		New:   func() channeltest.SenderSettings { return &slack.Settings{} },
		Whole: map[string]string{"SLACK_ALLOWED_HOSTS": "Hooks.Slack.com, 127.0.0.1:9090,[::1]:9090"},
		Right: []map[string]string{{}},
		Wrong: []channeltest.WrongSetting{
			{Key: "SLACK_ALLOWED_HOSTS", Value: "https://hooks.slack.com", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com,", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com/services", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com other.com", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "hooks.slack.com:https", Want: channeltest.NoHosts},
			{Key: "SLACK_ALLOWED_HOSTS", Value: "u@hooks.slack.com", Want: channeltest.NoHosts},
		},
	})
}

func TestAllowedHosts(t *testing.T) {
	t.Parallel()

	for value, want := range map[string][]string{
		"": {"hooks.slack.com"},
		"Hooks.Slack.com, 127.0.0.1:9090,[::1]:9090": {"hooks.slack.com", "127.0.0.1:9090", "[::1]:9090"},
	} {
		var settings slack.Settings
		settings.Read(environment.NewReader(map[string]string{"SLACK_ALLOWED_HOSTS": value}))
		require.Equal(t, want, settings.AllowedHosts)
	}
}
