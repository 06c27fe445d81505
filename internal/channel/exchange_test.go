package channel_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/channel"
	"herald/internal/notification"
)

// get makes one exchange with a test server.
func get(t *testing.T, serve http.HandlerFunc) (*channel.Exchange, *http.Response, error) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	require.NoError(t, err)
	exchange := channel.NewExchange(channel.NewTransport(1))
	response, err := exchange.Client().Do(request)
	return exchange, response, err
}

func TestExchangeLimitsBody(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		size, kept int
		failed     bool
	}{
		"empty":         {},
		"small":         {size: 10, kept: 10},
		"largest":       {size: 64 << 10, kept: 64 << 10},
		"too large":     {size: 64<<10 + 1, kept: 64 << 10, failed: true},
		"far too large": {size: 10 << 20, kept: 64 << 10, failed: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			exchange, response, err := get(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat("x", tt.size))
			})
			require.Equal(t, http.StatusOK, exchange.Status)
			require.Len(t, exchange.Body, tt.kept)
			failure := exchange.Failure(t.Context(), "p")
			if tt.failed {
				require.Error(t, err)
				require.Equal(t, &notification.ProviderError{Provider: "p", Class: notification.Ambiguous, Status: 200, Code: "unexpected answer"},
					failure)
				return
			}
			require.NoError(t, err)
			require.Nil(t, failure)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Equal(t, exchange.Body, body)
			require.NoError(t, response.Body.Close())
		})
	}
}

// An endless body must not keep its connection open.
func TestExchangeClosesEndlessBody(t *testing.T) {
	t.Parallel()

	closed := make(chan struct{})
	_, _, err := get(t, func(w http.ResponseWriter, _ *http.Request) { //nolint:bodyclose // the exchange did
		defer close(closed)
		for chunk := make([]byte, 1<<16); ; {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	require.Error(t, err)
	select {
	case <-closed:
	case <-time.After(time.Minute):
		require.Fail(t, "the connection is still open")
	}
}

func TestExchangeIsOneAttempt(t *testing.T) {
	t.Parallel()

	var requests atomic.Int64
	exchange, response, err := get(t, func(http.ResponseWriter, *http.Request) { requests.Add(1) })
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	_, err = exchange.Client().Do(response.Request) //nolint:bodyclose // there is none
	require.Error(t, err)
	require.EqualValues(t, 1, requests.Load())
}

func TestFailureOfARequestThatWasNotSent(t *testing.T) {
	t.Parallel()

	exchange := channel.NewExchange(channel.NewTransport(1))
	require.Equal(t, channel.Refuse("p", "invalid request"), exchange.Failure(t.Context(), "p"))
}

func TestProviderID(t *testing.T) {
	t.Parallel()

	longest := strings.Repeat("x", 256)
	for id, want := range map[string]string{"SM0123": "SM0123", longest: longest, longest + "x": "", "a\nb": "", "é": ""} {
		require.Equal(t, want, channel.ProviderID(id), id)
	}
}
