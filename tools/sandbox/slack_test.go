package sandbox_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	slackPath = "/services/T1/B1/X1"
	goodPost  = `{"text":"New reservation","blocks":[
		{"type":"section","block_id":"evt-1-staff10-SLACK","text":{"type":"mrkdwn","text":"*New reservation*"}},
		{"type":"divider"},
		{"type":"section","text":{"type":"mrkdwn","text":"Table for 4"}}]}`
)

func slackCall(path, body string) call {
	return call{method: http.MethodPost, path: path, contentType: "application/json; charset=utf-8", body: body}
}

func TestSlack(t *testing.T) {
	t.Parallel()

	block := func(fields string) string { return `{"blocks":[{"type":"section",` + fields + `}]}` }
	text := func(n int) string { return block(`"text":{"type":"mrkdwn","text":"` + strings.Repeat("a", n) + `"}`) }
	untyped := slackCall(slackPath, goodPost)
	untyped.contentType = "text/plain"
	tests := []struct {
		name   string
		call   call
		status int
		body   string
	}{
		{name: "text alone", call: slackCall(slackPath, `{"text":"hello"}`), status: 200, body: "ok"},
		{name: "longest text", call: slackCall(slackPath, text(3000)), status: 200, body: "ok"},
		{name: "not declared as JSON", call: untyped, status: 400, body: "invalid_payload"},
		{name: "no JSON", call: slackCall(slackPath, "hello"), status: 400, body: "invalid_payload"},
		{name: "empty", call: slackCall(slackPath, ""), status: 400, body: "invalid_payload"},
		{name: "text is a number", call: slackCall(slackPath, `{"text":1}`), status: 400, body: "invalid_payload"},
		{name: "neither text nor blocks", call: slackCall(slackPath, `{}`), status: 400, body: "no_text"},
		{name: "block without type", call: slackCall(slackPath, `{"blocks":[{}]}`), status: 400, body: "invalid_blocks"},
		{name: "text too long", call: slackCall(slackPath, text(3001)), status: 400, body: "invalid_blocks"},
		{name: "empty text", call: slackCall(slackPath, text(0)), status: 400, body: "invalid_blocks"},
		{name: "text of no type", call: slackCall(slackPath, block(`"text":{"text":"a"}`)), status: 400, body: "invalid_blocks"},
		{name: "id too long", call: slackCall(slackPath, block(`"block_id":"`+strings.Repeat("a", 256)+`"`)), status: 400, body: "invalid_blocks"},
		{name: "id twice", call: slackCall(slackPath, `{"blocks":[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]}`), status: 400, body: "invalid_blocks"},
		{name: "too many blocks", call: slackCall(slackPath, `{"blocks":[`+strings.Repeat(`{"type":"divider"},`, 50)+`{"type":"divider"}]}`), status: 400, body: "invalid_blocks"},
		{name: "forbidden", call: slackCall("/services/T1/B1/invalid-1", goodPost), status: 403, body: "invalid_token"},
		{name: "no such webhook", call: slackCall("/services/T1/B1/none-1", goodPost), status: 404, body: "no_service"},
		{name: "not a webhook", call: slackCall("/services/T1/B1", goodPost), status: 404, body: "no_service"},
		{name: "empty segment", call: slackCall("/services/T1/B1/", goodPost), status: 404, body: "no_service"},
		{name: "archived", call: slackCall("/services/T1/B1/archived-1", goodPost), status: 410, body: "channel_is_archived"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, body := b.answer(t, tt.call)
			require.Equal(t, tt.status, status)
			require.Equal(t, tt.body, body)

			entry := b.only(t)
			require.Equal(t, tt.call.path, entry.Recipient)
			require.Equal(t, status, entry.Status)
			require.Equal(t, status == http.StatusOK, entry.Accepted)
		})
	}
}
