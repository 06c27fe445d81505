package inbox_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/inbox"
)

// get asks for a file of the page.
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

// TestPage serves three files and the document of the API, which load nothing from elsewhere
// and run no script but their own.
func TestPage(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(inbox.Page(false))
	defer server.Close()
	for path, contentType := range map[string]string{
		"/": "text/html; charset=utf-8", "/style.css": "text/css; charset=utf-8", "/script.js": "text/javascript; charset=utf-8", "/openapi.json": "application/json",
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

// TestNothingInline holds the page to its policy, and the script to writing texts as texts.
func TestNothingInline(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(inbox.Page(false))
	defer server.Close()
	_, html := get(t, server, "/", "")
	require.NotRegexp(t, regexp.MustCompile(`(?i)<style|\sstyle=|\son\w+=|<script[^>]*>[^<]`), html)
	_, script := get(t, server, "/script.js", "")
	require.NotRegexp(t, regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|setHTML|DOMParser`), script)
}

// TestDemoIsSaid tells the page that it may choose who it is, and only then.
func TestDemoIsSaid(t *testing.T) {
	t.Parallel()

	for _, demo := range []bool{true, false} {
		server := httptest.NewServer(inbox.Page(demo))
		_, html := get(t, server, "/", "")
		server.Close()
		require.Contains(t, html, fmt.Sprintf(`data-demo="%t"`, demo))
	}
}
