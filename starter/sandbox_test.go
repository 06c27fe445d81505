package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/terminal"
	"herald/tools/demo"
)

func TestSandbox(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		a := &app{Output: terminal.Output{Out: io.Discard, Err: write}}
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

	got := shell{}.run(t, "sandbox", "--addr", taken.Addr().String(), "--ledger", filepath.Join(folder, "ledger.jsonl"))
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "next: choose another address with --addr")

	got = shell{}.run(t, "sandbox", "--addr", "127.0.0.1:0", "--ledger", folder)
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "next: name another file with --ledger")

	ledger := filepath.Join(folder, "ledger.jsonl")
	got = shell{}.run(t, "sandbox", "--ledger", ledger, "--gateway", "127.0.0.1:8080")
	require.Equal(t, calledWrong, got.code)
	require.Contains(t, got.err, "--gateway: must be http or https")

	got = shell{}.run(t, "sandbox", "--ledger", ledger, "--gateway", "http://127.0.0.1:8080", "--receipts", `{"lost":1}`)
	require.Equal(t, failed, got.code)
	require.Contains(t, got.err, "not settings of receipts")
	require.Contains(t, got.err, "correct --receipts")
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
	a := &app{Output: terminal.Output{Out: &out, Err: &problems, Format: terminal.JSON}}
	a.line("progress %d", 1)
	require.Empty(t, out.String())
	require.Equal(t, "progress 1\n", problems.String())

	a.Format = terminal.Table
	a.line("progress %d", 2)
	require.Equal(t, "progress 2\n", out.String())
}
