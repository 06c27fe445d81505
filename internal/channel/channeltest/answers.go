package channeltest

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// testEveryStatus sends one message for each status. Each 2xx has a success body; other answers
// echo the request.
func (s suite) testEveryStatus(t *testing.T) {
	var status atomic.Int64
	far, link := s.connect(t, func(w http.ResponseWriter, r *http.Request, body string) {
		answer := s.p.Success
		if answer.Status = int(status.Load()); answer.Status >= 300 {
			answer.Body = echo(r, body)
			answer.Header = map[string]string{"Location": "/elsewhere"} // the sender must not follow it: the target is unknown
		}
		answer.write(w)
	})
	for code := 200; code <= 599; code++ {
		status.Store(int64(code))
		msg := link.Message(code)
		receipt, err := link.Sender.Send(t.Context(), msg)
		require.Equal(t, code, receipt.Status)
		if s.p.accepts(code) {
			require.NoError(t, err, "status %d", code)
			continue
		}
		require.Error(t, err, "status %d", code)
		failure := RequireFailure(t, err, msg, link.Secrets)
		require.Equal(t, s.p.classOf(code), failure.Class, "status %d", code)
		require.Equal(t, code, failure.Status)
		require.Zero(t, failure.RetryAfter, "status %d", code)
	}
	require.EqualValues(t, 400, far.requests.Load(), "one attempt each, even if the SDK retries")
}

func (p HTTP) accepts(status int) bool {
	if p.EmptySuccess {
		return status == p.Success.Status
	}
	return status < 300 && (p.AnySuccess || status != http.StatusNoContent) // which has no body
}

func (p HTTP) classOf(status int) notification.FailureClass {
	if class, ok := p.Exceptions[status]; ok {
		return class
	}
	return notification.ClassOf(status, 0)
}

// testRetryAfter tries a few forms of the header. The test of [channel.RetryAfter] covers every
// form.
func (s suite) testRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "86400": 15 * time.Minute, "soon": 0, "": 0} {
		t.Run("after "+header, func(t *testing.T) {
			t.Parallel()
			for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
				answer := Answer{Status: status, Header: map[string]string{"Retry-After": header}}
				_, link := s.connect(t, always(answer))
				msg := link.Message(1)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				_, err := link.Sender.Send(ctx, msg)
				require.NoError(t, ctx.Err(), "neither the sender nor its SDK waits")
				failure := RequireFailure(t, err, msg, link.Secrets)
				require.Equal(t, notification.ClassOf(status, want), failure.Class)
				require.Equal(t, want, failure.RetryAfter)
			}
		})
	}
}

// useless returns complete answers with the status of a success, but not its body.
func (p HTTP) useless() map[string]Answer {
	if p.AnySuccess {
		return map[string]Answer{"endless": {Status: p.Success.Status, Body: string(make([]byte, 1<<20))}}
	}
	answers := map[string]Answer{
		"page of a proxy":   {Status: p.Success.Status, Header: map[string]string{"Content-Type": "text/html"}, Body: page()},
		"endless":           {Status: p.Success.Status, Body: string(make([]byte, 1<<20))},
		"plain 200 of HTML": {Status: http.StatusOK, Body: "<html></html>"},
	}
	if !p.EmptySuccess {
		answers["empty"] = Answer{Status: p.Success.Status}
		answers["other JSON"] = Answer{Status: p.Success.Status, Body: `{}`}
		answers["null"] = Answer{Status: p.Success.Status, Body: `null`}
	}
	return answers
}

func (s suite) testUselessAnswers(t *testing.T) {
	for name, answer := range s.p.useless() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far, link := s.connect(t, always(answer))
			msg := link.Message(1)
			receipt, err := link.Sender.Send(t.Context(), msg)
			failure := RequireFailure(t, err, msg, link.Secrets)
			require.Equal(t, notification.Ambiguous, failure.Class)
			require.Equal(t, answer.Status, failure.Status)
			require.Equal(t, "unexpected answer", failure.Code)
			require.Equal(t, answer.Status, receipt.Status)
			require.EqualValues(t, 1, far.requests.Load())
		})
	}
}

// testConnectionsAreKept detects a body that was not drained or closed: each request then needs a
// new connection. If an answer comes before the end of its request, net/http may drop the
// connection 50 ms later. This happens on busy machines.
func (s suite) testConnectionsAreKept(t *testing.T) {
	answers := map[string]Answer{"success": s.p.Success, "empty": {Status: s.p.Success.Status}}
	for _, status := range []int{s.p.Success.Status, 302, 400, 404, 429, 502, 503} {
		answers[fmt.Sprintf("page with %d", status)] = Answer{Status: status, Body: page()}
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			far, link := s.connect(t, always(answer))
			for n := range 20 {
				_, _ = link.Sender.Send(t.Context(), link.Message(n)) // other tests check its results
			}
			require.EqualValues(t, 20, far.requests.Load())
			require.Less(t, far.connections.Load(), int64(10))
		})
	}
}
