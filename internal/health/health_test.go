package health

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func readyz(t *testing.T, handler http.Handler) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	return answer
}

// /readyz checks the servers at most once a second, for any number of requests.
func TestReadyChecksOnceASecond(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int64
		handler := Handler([]Need{{"database", "does not answer", func(ctx context.Context) error {
			runs.Add(1)
			return ctx.Err()
		}}}, http.NotFoundHandler())
		ask := func() {
			var asking sync.WaitGroup
			for range 100 {
				asking.Go(func() { _ = readyz(t, handler) })
			}
			asking.Wait()
			require.Equal(t, http.StatusOK, readyz(t, handler).Code)
		}
		ask()
		require.EqualValues(t, 1, runs.Load())
		time.Sleep(readyFor)
		ask()
		require.EqualValues(t, 2, runs.Load())
	})
}

// The answer contains only fixed texts, because an error may contain an address.
func TestReadyShowsNoError(t *testing.T) {
	t.Parallel()

	answer := readyz(t, Handler([]Need{
		{"database", "does not answer", func(context.Context) error { return errors.New("failed to connect to host=db.internal user=herald") }},
		{"broker", "takes no messages", func(context.Context) error { return nil }},
	}, http.NotFoundHandler()))
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.JSONEq(t, `{"database":"does not answer","broker":"ok"}`, answer.Body.String())
}

// A check that hangs does not delay other checks beyond the timeout.
func TestReadyWithACheckThatHangs(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		answer := readyz(t, Handler([]Need{
			{"database", "does not answer", hang},
			{"temporal", "does not answer", func(ctx context.Context) error { return ctx.Err() }},
		}, http.NotFoundHandler()))
		require.Equal(t, http.StatusServiceUnavailable, answer.Code)
		require.JSONEq(t, `{"database":"does not answer","temporal":"ok"}`, answer.Body.String())
	})
}

// The server closes the connection of a request that never ends, or that is too large.
func TestHealthServerIsBounded(t *testing.T) {
	t.Parallel()

	server := newServer("", Handler(nil, http.NotFoundHandler()))
	require.Positive(t, server.WriteTimeout)
	require.Positive(t, server.IdleTimeout)
	server.ReadTimeout /= 50 // shorter, so that the test is fast
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })

	for name, request := range map[string]string{
		"header": "GET /healthz HTTP/1.1\r\nHost: h\r\n",
		"body":   "GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n",
		"large":  "GET /healthz HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		require.NoError(t, err)
		_, _ = io.WriteString(conn, request)
		read, _ := io.ReadAll(conn) // returns when the server closes the connection
		require.NoError(t, conn.Close())
		if name == "large" && len(read) > 0 { // a reset may come before the answer
			require.Contains(t, string(read), "431")
		}
	}
}

type wrongSecretError struct{}

func (wrongSecretError) Error() string { return "another secret" }

func (wrongSecretError) Lasting() bool { return true }

// Only a lasting error ends the wait.
func TestAwaitEndsAfterALastingError(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		tries := []error{errors.New("away"), errors.New("away"), fmt.Errorf("begin: %w", wrongSecretError{}), nil}
		tried := 0
		err := Await(t.Context(), "the database", func(context.Context) error {
			tried++
			return tries[tried-1]
		})
		require.EqualError(t, err, "begin: another secret")
		require.Equal(t, 3, tried)
	})
}
