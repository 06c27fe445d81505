package sandbox_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := start(t)
	page := func() string {
		status, header, body := b.answer(t, call{method: http.MethodGet, path: "/"})
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, header.Get("Content-Type"), "text/html")
		require.NotEmpty(t, header.Get("Content-Security-Policy"))
		return body
	}
	require.Contains(t, page(), "Nothing was sent yet.")

	b.answer(t, mailCall(mailWith(object{"subject": "<script>alert(1)</script>"})))
	b.answer(t, smsCall(smsWith("Body", "<b>bold</b>")))
	b.setFault(t, notification.Slack, `{"drop":"after"}`)
	_, err := b.do(t, slackCall(slackPath, strings.ReplaceAll(goodPost, "Table", "&lt;i&gt;Table"))) //nolint:bodyclose // no answer, so no body
	require.Error(t, err)

	body := page()
	require.NotContains(t, body, "<script>")
	require.NotContains(t, body, "<b>")
	require.NotContains(t, body, "<i>")
	for _, text := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;bold&lt;/b&gt;", "&lt;i&gt;Table", "202 accepted", "accepted, not told",
		"evt-1-staff10-EMAIL", "ada@example.com", `fault {&#34;drop&#34;:&#34;after&#34;}`,
	} {
		require.Contains(t, body, text)
	}
	require.Less(t, strings.Index(body, "evt-1-staff10-SLACK"), strings.Index(body, "evt-1-staff10-EMAIL"), "newest first")
}

// The page describes the settings of receipts in words.
func TestPageOfReceipts(t *testing.T) {
	t.Parallel()

	for settings, want := range map[string]string{
		``:                  "0 waiting, 0 taken, 0 refused, 0 lost. A receipt comes after 1s.</p>",
		`{"delay":"300ms"}`: "A receipt comes after 300ms.</p>",
		`{"late":"1m","twice":true,"lost":true,"shuffled":true,"rate":0.5}`: "A receipt comes after 1s. 50% come 1m0s late, twice, in any order, never.</p>",
		`{"twice":true,"outcomes":{"ada@example.com":"delivered"}}`:         "A receipt comes after 1s. All come twice. Addresses with a given outcome: 1.</p>",
	} {
		b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Gateway: "http://127.0.0.1:1", Receipts: settings})
		_, _, body := b.answer(t, call{method: http.MethodGet, path: "/"})
		require.Contains(t, body, want)
	}
}

// The page shows only the newest entries and the beginning of each text.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t)
	for n := range 210 {
		b.answer(t, post(fmt.Sprintf("evt-%d", n)))
	}
	b.answer(t, slackCall(slackPath, `{"text":"`+strings.Repeat("à", 300_000)+`"}`))
	_, _, body := b.answer(t, call{method: http.MethodGet, path: "/"})
	require.Less(t, len(body), 200_000)
	require.Equal(t, 200, strings.Count(body, "<tr>\n  <td"))
	require.Contains(t, body, ">evt-209<")
	require.NotContains(t, body, ">evt-10<")
	require.Contains(t, body, `<span class="count">211</span>`)
	require.Len(t, b.entries(t, ""), 211)
}
