package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The log has a line for each request, by which its answer can be found, and nothing that
// its sender wrote. It sets the log of the process, so it is no parallel test.
func TestLogOfRequests(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	routes := http.NewServeMux()
	routes.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "fails") {
			panic("a mistake")
		}
		w.WriteHeader(http.StatusTeapot)
	})
	ask := func(method, target, id string) (*httptest.ResponseRecorder, map[string]any) {
		log.Reset()
		r := httptest.NewRequestWithContext(t.Context(), method, own+target, strings.NewReader("secret"))
		r.Header.Set("Authorization", "Bearer secret")
		r.Header.Set(requestID, id)
		answer := httptest.NewRecorder()
		logged(routes).ServeHTTP(answer, r)
		require.NotContains(t, log.String(), "secret")
		var line map[string]any
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &line))
		require.Equal(t, answer.Header().Get(requestID), line["id"])
		require.Equal(t, "/api/", line["route"])
		require.InDelta(t, answer.Code, line["status"], 0)
		return answer, line
	}

	answer, line := ask(http.MethodGet, "/api/secret?ticket=secret", "from-the-proxy.1")
	require.Equal(t, "from-the-proxy.1", line["id"])
	require.Equal(t, "GET", line["method"])
	require.Equal(t, "nosniff", answer.Header().Get("X-Content-Type-Options"))

	_, line = ask("SECRET", "/api/x", "secret secret")
	require.Equal(t, "other", line["method"])
	require.NotEmpty(t, line["id"])

	answer, _ = ask(http.MethodGet, "/api/fails", "")
	require.Equal(t, http.StatusInternalServerError, answer.Code)
	require.Equal(t, "application/problem+json", answer.Header().Get("Content-Type"))
	require.NotContains(t, answer.Body.String(), "mistake")
}
