package inbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/inbox"
)

// get requests a file of the page.
func get(t *testing.T, server *httptest.Server, path, tag string) (*http.Response, string) {
	t.Helper()
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
	require.NoError(t, err)
	if tag != "" {
		asked.Header.Set("If-None-Match", tag)
	}
	answer, err := http.DefaultClient.Do(asked)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(body)
}

// TestPage requests the page's three files and the OpenAPI document. Their policy permits no
// scripts or files from other origins.
func TestPage(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(inbox.Page{}.Handler())
	defer server.Close()
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/style.css": "text/css; charset=utf-8", "/script.js": "text/javascript; charset=utf-8",
		"/openapi.json": "application/json",
	} {
		answer, body := get(t, server, path, "")
		require.Equal(t, http.StatusOK, answer.StatusCode, path)
		require.Equal(t, contentType, answer.Header.Get("Content-Type"))
		policy := answer.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'; script-src 'self';")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
		require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"))
		require.NotEmpty(t, body)
		require.NotRegexp(t, `(src|href|url)[=(]"?https?:`, body, path)

		again, nothing := get(t, server, path, answer.Header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, again.StatusCode)
		require.Empty(t, nothing)
	}
	for _, path := range []string{"/index.html", "/page/index.html", "/page", "/../page.go", "/nothing"} {
		answer, _ := get(t, server, path, "")
		require.Equal(t, http.StatusNotFound, answer.StatusCode, path)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	}
}

// TestNothingInline checks that the page obeys its policy, and that the script never inserts HTML.
func TestNothingInline(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(inbox.Page{}.Handler())
	defer server.Close()
	_, html := get(t, server, "/", "")
	require.NotRegexp(t, regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`), html)
	_, script := get(t, server, "/script.js", "")
	require.NotRegexp(t, regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|setHTML|DOMParser`), script)
}

// TestPeopleAreOfferedOnlyInADemo checks that the page offers a choice of people only in the demo.
func TestPeopleAreOfferedOnlyInADemo(t *testing.T) {
	t.Parallel()

	for _, demo := range []bool{true, false} {
		server := httptest.NewServer(inbox.Page{Demo: demo}.Handler())
		_, html := get(t, server, "/", "")
		server.Close()
		require.Contains(t, html, fmt.Sprintf(`data-demo="%t"`, demo))
	}
}

// TestDemo chooses a person, and reads this person's inbox.
func TestDemo(t *testing.T) {
	t.Parallel()

	g := newGateway(t)
	g.notify(giulia, 1)
	answer, body := g.do(t, request{method: "GET", path: "/demo/people"})
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, `[{"user_type":"RESTAURANT_USER","user_id":"10","name":"Giulia Conti"},{"user_type":"RESTAURANT_USER","user_id":"11","name":"Marco Bianchi"}]`, string(body))

	answer, body = g.do(t, request{method: "POST", path: "/demo/token", body: `{"user_type":"RESTAURANT_USER","user_id":"10"}`})
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	var chosen struct{ Token string }
	require.NoError(t, json.Unmarshal(body, &chosen))
	answer, body = g.do(t, request{method: "GET", path: "/api/notifications/unread-count", token: chosen.Token})
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.JSONEq(t, `{"unread":1}`, string(body))

	for body, want := range map[string]int{
		`{"user_type":"RESTAURANT_USER","user_id":"15"}`: http.StatusNotFound, // no longer active
		`{"user_type":"ADMIN","user_id":"10"}`:           http.StatusNotFound,
		`{"user_type":"ADMIN","role":"root"}`:            http.StatusBadRequest,
	} {
		answer, _ := g.do(t, request{method: "POST", path: "/demo/token", body: body})
		require.Equal(t, want, answer.StatusCode, body)
	}
}

// TestDocumentHasTheExample compares docs/inbox.md with the code that signs these tests' tokens.
func TestDocumentHasTheExample(t *testing.T) {
	t.Parallel()

	document, err := os.ReadFile("../../docs/inbox.md")
	require.NoError(t, err)
	source, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	_, example, _ := strings.Cut(string(source), "// inboxToken")
	require.Contains(t, string(document), "```go\n// inboxToken"+example+"```")
}
