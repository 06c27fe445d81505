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
		"Content-Type": "application/json", "webhook-id": id, "webhook-timestamp": strconv.FormatInt(at.Unix(), 10), "webhook-signature": "v1,b3RoZXI= " + signature,
	}}
}

func TestWebhook(t *testing.T) {
	t.Parallel()

	changed := hookCall("/hooks/x", "id", time.Now(), goodHook)
	changed.body += " "
	tests := []struct {
		name   string
		call   call
		status int
	}{
		{name: "one of two signatures", call: hookCall("/hooks/x", "id", time.Now(), goodHook), status: http.StatusNoContent},
		{name: "changed", call: changed, status: http.StatusUnauthorized},
		{name: "old", call: hookCall("/hooks/x", "id", time.Now().Add(-time.Hour), goodHook), status: http.StatusUnauthorized},
		{name: "without an id", call: hookCall("/hooks/x", "", time.Now(), goodHook), status: http.StatusUnauthorized},
		{name: "gone", call: hookCall("/hooks/gone-1", "id", time.Now(), goodHook), status: http.StatusGone},
		{name: "another message", call: hookCall("/hooks/x", "id", time.Now(), `{}`), status: http.StatusBadRequest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			status, _, _ := b.answer(t, tt.call)
			require.Equal(t, tt.status, status)
			require.Equal(t, status == http.StatusNoContent, b.only(t).Accepted)
		})
	}
}

// A receiver that has the message answers a repeat of it with success, and ignores it.
func TestWebhookRepeat(t *testing.T) {
	t.Parallel()

	b := start(t)
	for _, id := range []string{"a", "b", "a"} {
		status, _, _ := b.answer(t, hookCall("/hooks/x", id, time.Now(), goodHook))
		require.Equal(t, http.StatusNoContent, status)
	}
	entries := b.entries(t, "")
	require.False(t, entries[0].Repeat)
	require.False(t, entries[1].Repeat)
	require.True(t, entries[2].Repeat)
	_, _, page := b.answer(t, call{method: http.MethodGet, path: "/"})
	require.Contains(t, page, "repeat, ignored")
}
