package sandbox_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/tools/sandbox"
)

// post returns a call that adds an entry with this delivery id.
func post(id string) call {
	return slackCall(slackPath, `{"blocks":[{"type":"divider","block_id":"`+id+`"}]}`)
}

func ids(entries []sandbox.Entry) []string {
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.DeliveryID)
	}
	return list
}

func TestLedgerLine(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.answer(t, mailCall(mailWith(object{"subject": "<Ada> & \u2028 Eve", "content": []any{object{"type": "text/html", "value": "a\nb"}}})))
	content, err := os.ReadFile(b.ledger)
	require.NoError(t, err)
	require.Regexp(t, `^\{"time":"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z","channel":"EMAIL","delivery_id":"evt-1-staff10-EMAIL",`+
		`"recipient":"ada@example\.com","title":"<Ada> & \\u2028 Eve","body":"a\\nb","status":202,"accepted":true\}\n$`, string(content))
}

func TestLedgerSurvivesRestart(t *testing.T) {
	t.Parallel()
	cfg := sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson")}
	for n := range 3 {
		t.Run(fmt.Sprint("run ", n), func(t *testing.T) { startWith(t, cfg).answer(t, post(fmt.Sprint(n))) })
	}
	b := startWith(t, cfg)
	require.Equal(t, []string{"0", "1", "2"}, ids(b.all(t)))
	page := b.get(t, "/")
	require.Contains(t, page, `<span class="count">3</span> <small>accepted</small>`)
}

func TestLedgerRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tests := map[string]string{ // content by name
		"text":          "Dear Ada,\n",
		"unended text":  "Dear Ada",
		"JSON":          "{}\n",
		"half an entry": `{"time":"2026-11-21T10:00:00Z","channel":"SLACK"`,
		"no time":       `{"time":"` + strings.Repeat("0", 9<<20) + "\"}\n",
	}
	for name, content := range tests {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := sandbox.New(sandbox.Config{Ledger: path})
		require.ErrorContains(t, err, "ledger", name)
		require.NotContains(t, err.Error(), "Ada")
		left, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(left), "the file must not change")
	}
	_, err := sandbox.New(sandbox.Config{})
	require.ErrorContains(t, err, "missing")
	_, err = sandbox.New(sandbox.Config{Ledger: dir})
	require.ErrorContains(t, err, "open ledger")
}

func TestLedgerConcurrently(t *testing.T) {
	t.Parallel()
	b := start(t)
	want := []string{}
	var group errgroup.Group
	for n := range 64 {
		id := fmt.Sprintf("evt-%d", n)
		want = append(want, id)
		group.Go(func() error {
			response, err := b.do(t, post(id))
			if err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("status %d", response.StatusCode)
			}
			return response.Body.Close()
		})
	}
	require.NoError(t, group.Wait())

	entries := b.all(t)
	require.ElementsMatch(t, want, ids(entries))
	for i := range entries[1:] {
		require.False(t, entries[i+1].Time.Before(entries[i].Time), "entries are in order of time")
	}
	content, err := os.ReadFile(b.ledger)
	require.NoError(t, err)
	require.Equal(t, 64, strings.Count(string(content), "\n"))
}

func TestLedgerSince(t *testing.T) {
	t.Parallel()
	b := start(t)
	for _, id := range []string{"a", "b", "c"} {
		b.answer(t, post(id))
	}
	all := b.all(t)
	require.Equal(t, all[1:], b.entries(t, all[1].Time))
	body := b.expect(t, http.StatusBadRequest, call{method: http.MethodGet, path: "/ledger?since=today"})
	require.Contains(t, body, `{"error":`)
}

// If the ledger cannot be written, the sandbox does not answer like the provider.
func TestLedgerCannotBeWritten(t *testing.T) {
	t.Parallel()
	server, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson")})
	require.NoError(t, err)
	require.NoError(t, server.Close())
	for _, tt := range accepted() {
		answer := httptest.NewRecorder()
		request := httptest.NewRequestWithContext(t.Context(), tt.call.method, tt.call.path, strings.NewReader(tt.call.body))
		server.ServeHTTP(answer, request)
		require.Equal(t, http.StatusInternalServerError, answer.Code)
	}
}
