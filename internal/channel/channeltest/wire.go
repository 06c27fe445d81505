package channeltest

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// soon is a deadline before any answer. patience is the suite's limit for a Send.
const (
	soon     = 50 * time.Millisecond
	patience = time.Minute
)

// hang gives no answer, and waits until the sender closes the connection.
func hang(_ http.ResponseWriter, r *http.Request, _ string) { <-r.Context().Done() }

// cut closes the connection during an exchange.
func cut(w http.ResponseWriter, _ *http.Request, _ string) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

// requireInterrupted sends a message and requires an ambiguous failure with the code.
func requireInterrupted(ctx context.Context, t *testing.T, link Link, code string) *notification.ProviderError {
	t.Helper()
	return requireClass(ctx, t, link, notification.Ambiguous, code)
}

// requireClass sends a message and requires a failure with the class and the code. The time limit of the
// tests ends a Send that does not return.
func requireClass(ctx context.Context, t *testing.T, link Link, class notification.FailureClass, code string) *notification.ProviderError {
	t.Helper()
	msg := link.Message(1)
	_, err := link.Sender.Send(ctx, msg)
	failure := RequireFailure(t, err, msg, link.Secrets)
	require.Equal(t, class, failure.Class)
	require.Equal(t, code, failure.Code)
	return failure
}

func (s suite) testDeadline(t *testing.T) {
	_, link := s.connect(t, hang)
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	requireInterrupted(ctx, t, link, "timeout")
}

func (s suite) testTimeout(t *testing.T) {
	far, link := s.connect(t, hang)
	link.Sender = s.newSender(t, far.URL, soon)
	requireInterrupted(t.Context(), t, link, "timeout")
}

func (s suite) testDeadlineInAnswer(t *testing.T) {
	_, link := s.connect(t, func(w http.ResponseWriter, r *http.Request, body string) {
		w.WriteHeader(s.p.Success.Status)
		_ = http.NewResponseController(w).Flush()
		hang(w, r, body)
	})
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	requireInterrupted(ctx, t, link, "timeout")
}

func (s suite) testCancelledDuring(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	far, link := s.connect(t, func(w http.ResponseWriter, r *http.Request, body string) {
		cancel()
		hang(w, r, body)
	})
	requireInterrupted(ctx, t, link, "cancelled")
	require.EqualValues(t, 1, far.requests.Load())
}

func (s suite) testTruncated(t *testing.T) {
	far, link := s.connect(t, func(w http.ResponseWriter, r *http.Request, body string) {
		w.Header().Set("Content-Length", strconv.Itoa(len(s.p.Success.Body)+1))
		s.p.Success.write(w)
		_ = http.NewResponseController(w).Flush()
		cut(w, r, body)
	})
	failure := requireInterrupted(t.Context(), t, link, "connection lost")
	require.Equal(t, s.p.Success.Status, failure.Status)
	require.EqualValues(t, 1, far.requests.Load())
}

// testCutAfter cuts a connection that already served a request, because net/http repeats some
// requests on such connections. A busy machine may have dropped that connection; then the test
// tries again.
func (s suite) testCutAfter(t *testing.T) {
	for range 10 {
		if s.cutWarm(t) {
			return
		}
	}
	require.Fail(t, "no connection is kept")
}

// cutWarm reports whether the connection that it cut had served a request.
func (s suite) cutWarm(t *testing.T) bool {
	t.Helper()
	var warm atomic.Bool
	far, link := s.connect(t, func(w http.ResponseWriter, r *http.Request, body string) {
		if warm.Load() {
			cut(w, r, body)
			return
		}
		s.p.Success.write(w)
	})
	_, err := link.Sender.Send(t.Context(), link.Message(0))
	require.NoError(t, err)
	warm.Store(true)

	requireInterrupted(t.Context(), t, link, "connection lost")
	require.EqualValues(t, 2, far.requests.Load(), "sent once, and once before")
	return far.connections.Load() == 1
}

// testCutBefore cuts each connection at once.
func (s suite) testCutBefore(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	var connections atomic.Int64
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			connections.Add(1)
			_ = conn.Close()
		}
	}()

	requireInterrupted(t.Context(), t, s.link(t, listener.Addr()), "connection lost")
	require.EqualValues(t, 1, connections.Load(), "one attempt, even if the SDK retries")
}
