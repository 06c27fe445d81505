package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/console"
	"herald/internal/demo"
	"herald/internal/sandbox"
)

func TestSandbox(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := &app{Output: console.Output{Out: io.Discard, Err: write}}
		ended <- a.run(ctx, []string{"sandbox", "--addr", "127.0.0.1:0", "--ledger", filepath.Join(t.TempDir(), "ledger.jsonl")})
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	require.NoError(t, err)
	_, url, said := strings.Cut(strings.TrimSpace(string(line[:n])), " at ")
	require.True(t, said, "%s", line[:n])

	ledger := demo.Sandbox{BaseURL: url}
	require.NoError(t, ledger.Reachable(t.Context()))
	entries, err := ledger.Since(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
	require.Empty(t, entries)
	cancel()
	require.Equal(t, succeeded, <-ended)
	require.Error(t, ledger.Reachable(t.Context()))
}

func TestSandboxCannotStart(t *testing.T) {
	t.Parallel()

	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	folder := t.TempDir()

	got := terminal{}.run(t, "sandbox", "--addr", taken.Addr().String(), "--ledger", filepath.Join(folder, "ledger.jsonl"))
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "next: choose another address with --addr")

	got = terminal{}.run(t, "sandbox", "--addr", "127.0.0.1:0", "--ledger", folder)
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "next: name another file with --ledger")

	ledger := filepath.Join(folder, "ledger.jsonl")
	got = terminal{}.run(t, "sandbox", "--ledger", ledger, "--gateway", "127.0.0.1:8080")
	require.Equal(t, calledWrong, got.code)
	require.Contains(t, got.err, "--gateway: must be http or https")

	got = terminal{}.run(t, "sandbox", "--ledger", ledger, "--gateway", "http://127.0.0.1:8080", "--receipts", `{"lost":1}`)
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "not settings of receipts")
	require.Contains(t, got.err, "correct --receipts")
}

func TestSandboxText(t *testing.T) {
	t.Parallel()

	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/webhooks/twilio/inbound" || r.FormValue("From") != "+393331234567" || r.FormValue("Body") != "STOP" {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(gateway.Close)
	server, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger"), Local: true, Gateway: gateway.URL, Receipts: `{"lost":true}`})
	require.NoError(t, err)
	providers := httptest.NewServer(server)
	t.Cleanup(func() {
		providers.Close()
		require.NoError(t, server.Close())
	})

	text := func(words ...string) printed {
		return terminal{}.run(t, append([]string{"sandbox", "text", "--sandbox-url", providers.URL}, words...)...)
	}
	got := text("--from", "+393331234567", "STOP")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "no text message was sent yet")

	form := url.Values{"To": {"+15551234567"}, "From": {"+15005550006"}, "Body": {"Hello"}, "StatusCallback": {gateway.URL + "/webhooks/twilio"}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, providers.URL+"/2010-04-01/Accounts/AC1/Messages.json", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.SetBasicAuth("AC1", "token")
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusCreated, response.StatusCode)

	got = text("--from", "+393331234567", "STOP")
	require.Equal(t, succeeded, got.code, got.err)
	require.Contains(t, got.out, "21610")
	require.Contains(t, text("--from", "+393331234567", "STOP", "-o", "json").out, `"opt_out_type": "STOP"`)
	require.Contains(t, text("--from", "+393331234567", "anything").err, "the gateway answered 418")
	require.Equal(t, calledWrong, text("STOP").code, "--from is missing")
	require.Equal(t, calledWrong, text("--from", "+393331234567", "--sandbox-url", "nowhere", "STOP").code)
}

func TestDemoNeedsTemporal(t *testing.T) {
	t.Parallel()

	got := withDatabase(t).run(t, "demo")
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "error: Temporal is out of reach")
}

func TestOutputFormats(t *testing.T) {
	t.Parallel()

	var out, problems bytes.Buffer
	a := &app{Output: console.Output{Out: &out, Err: &problems, Format: console.JSON}}
	a.line("progress %d", 1)
	require.Empty(t, out.String())
	require.Equal(t, "progress 1\n", problems.String())

	a.Format = console.Table
	a.line("progress %d", 2)
	require.Equal(t, "progress 2\n", out.String())
}
