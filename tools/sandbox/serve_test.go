package sandbox_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

func listen(t *testing.T) (*sandbox.Server, net.Listener, box) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.ndjson")
	server, err := sandbox.New(sandbox.Config{Ledger: path})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Close() })
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return server, listener, box{URL: "http://" + listener.Addr().String(), ledger: path}
}

// A sandbox that ends does not wait for a latency.
func TestServe(t *testing.T) {
	t.Parallel()
	server, listener, b := listen(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, listener) }()

	b.expect(t, http.StatusOK, slackCall(slackPath, goodPost))
	b.setFault(t, notification.SMS, `{"latency":"5m0s"}`)
	written, answered := b.begin(t.Context(), t, smsCall(goodSMS()))
	<-written

	stop()
	require.Error(t, <-answered)
	require.NoError(t, <-ended)
	require.NoError(t, server.Close())

	entries := startWith(t, sandbox.Config{Ledger: b.ledger}).all(t)
	require.Len(t, entries, 2)
	require.Equal(t, notification.SMS, entries[1].Channel)
	require.False(t, entries[1].Accepted)
}

// begin makes a call in the background, until ctx ends. The first channel closes when the body
// was written, after the server asked for it. The second channel gets the call's error.
func (b box) begin(ctx context.Context, t *testing.T, c call) (written chan struct{}, answered chan error) {
	t.Helper()
	written, answered = make(chan struct{}), make(chan error, 1)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { close(written) }})
	request, err := http.NewRequestWithContext(ctx, c.method, b.URL+c.path, strings.NewReader(c.body))
	require.NoError(t, err)
	request.Header = http.Header{"Authorization": {c.authorization}, "Content-Type": {c.contentType}, "Expect": {"100-continue"}}
	go func() {
		response, err := http.DefaultClient.Do(request)
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	return written, answered
}

func TestServeFails(t *testing.T) {
	t.Parallel()
	server, listener, _ := listen(t)
	require.NoError(t, listener.Close())
	require.ErrorContains(t, server.Serve(t.Context(), listener), "sandbox: serve")
}
