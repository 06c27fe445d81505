package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
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
	requireAnswers(t, map[string]answered{
		"text alone":              {slackCall(slackPath, `{"text":"hello"}`), 200, "^ok$"},
		"longest text":            {slackCall(slackPath, text(3000)), 200, "^ok$"},
		"not declared as JSON":    {untyped, 400, "^invalid_payload$"},
		"no JSON":                 {slackCall(slackPath, "hello"), 400, "^invalid_payload$"},
		"empty":                   {slackCall(slackPath, ""), 400, "^invalid_payload$"},
		"text is a number":        {slackCall(slackPath, `{"text":1}`), 400, "^invalid_payload$"},
		"neither text nor blocks": {slackCall(slackPath, `{}`), 400, "^no_text$"},
		"block without type":      {slackCall(slackPath, `{"blocks":[{}]}`), 400, "^invalid_blocks$"},
		"text too long":           {slackCall(slackPath, text(3001)), 400, "^invalid_blocks$"},
		"empty text":              {slackCall(slackPath, text(0)), 400, "^invalid_blocks$"},
		"text of no type":         {slackCall(slackPath, block(`"text":{"text":"a"}`)), 400, "^invalid_blocks$"},
		"id too long":             {slackCall(slackPath, block(`"block_id":"`+strings.Repeat("a", 256)+`"`)), 400, "^invalid_blocks$"},
		"id twice": {slackCall(slackPath, `{"blocks":[{"type":"divider","block_id":"a"},{"type":"divider","block_id":"a"}]}`),
			400, "^invalid_blocks$"},
		"too many blocks": {slackCall(slackPath, `{"blocks":[`+strings.Repeat(`{"type":"divider"},`, 50)+`{"type":"divider"}]}`), 400,
			"^invalid_blocks$"},
		"forbidden":       {slackCall("/services/T1/B1/invalid-1", goodPost), 403, "^invalid_token$"},
		"no such webhook": {slackCall("/services/T1/B1/none-1", goodPost), 404, "^no_service$"},
		"not a webhook":   {slackCall("/services/T1/B1", goodPost), 404, "^no_service$"},
		"empty segment":   {slackCall("/services/T1/B1/", goodPost), 404, "^no_service$"},
		"archived":        {slackCall("/services/T1/B1/archived-1", goodPost), 410, "^channel_is_archived$"},
	})
}
