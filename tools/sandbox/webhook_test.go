package sandbox_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"herald/tools/sandbox"
)

const goodHook = `{"type":"notification","delivery_id":"evt-1-staff10-WEBHOOK","title":"New reservation","body":"Table for 4"}`

// hookCall signs the body like a sender at that time.
func hookCall(path, id string, at time.Time, body string) call {
	sender, err := standardwebhooks.NewWebhook(sandbox.WebhookSecret)
	if err != nil {
		panic(err)
	}
	signature, err := sender.Sign(id, at, []byte(body))
	if err != nil {
		panic(err)
	}
	return call{method: http.MethodPost, path: path, body: body, header: map[string]string{
		"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": strconv.FormatInt(at.Unix(), 10),
		"webhook-signature": "v1,b3RoZXI= " + signature,
	}}
}

func TestWebhook(t *testing.T) {
	t.Parallel()

	changed := hookCall("/hooks/x", "id", time.Now(), goodHook)
	changed.body += " "
	requireAnswers(t, map[string]answered{
		"one of two signatures": {hookCall("/hooks/x", "id", time.Now(), goodHook), http.StatusNoContent, ""},
		"changed":               {changed, http.StatusUnauthorized, ""},
		"old":                   {hookCall("/hooks/x", "id", time.Now().Add(-time.Hour), goodHook), http.StatusUnauthorized, ""},
		"without an id":         {hookCall("/hooks/x", "", time.Now(), goodHook), http.StatusUnauthorized, ""},
		"gone":                  {hookCall("/hooks/gone-1", "id", time.Now(), goodHook), http.StatusGone, ""},
		"another message":       {hookCall("/hooks/x", "id", time.Now(), `{}`), http.StatusBadRequest, ""},
	})
}

// A receiver that has a message answers its repeat with success, and ignores it.
func TestWebhookRepeat(t *testing.T) {
	t.Parallel()

	b := start(t)
	for _, id := range []string{"a", "b", "a"} {
		b.expect(t, http.StatusNoContent, hookCall("/hooks/x", id, time.Now(), goodHook))
	}
	entries := b.all(t)
	require.False(t, entries[0].Repeat)
	require.False(t, entries[1].Repeat)
	require.True(t, entries[2].Repeat)
	page := b.get(t, "/")
	require.Contains(t, page, "repeat, ignored")
}
