package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestServe(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		cmd := command(write)
		cmd.SetArgs([]string{"--addr", "127.0.0.1:0", "--ledger", filepath.Join(t.TempDir(), "ledger.jsonl")})
		ended <- cmd.ExecuteContext(ctx)
	}()
	line := make([]byte, 200)
	n, err := read.Read(line)
	require.NoError(t, err)
	_, url, said := strings.Cut(strings.TrimSpace(string(line[:n])), " at ")
	require.True(t, said, "%s", line[:n])

	answer, err := http.Get(url + "/ledger")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
	cancel()
	require.NoError(t, <-ended)
}

func TestServeRefuses(t *testing.T) {
	t.Parallel()

	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	folder := t.TempDir()
	ledger := filepath.Join(folder, "ledger.jsonl")
	for want, args := range map[string][]string{
		`required flag(s) "ledger" not set`:          {},
		"choose another address with --addr":         {"--ledger", ledger, "--addr", taken.Addr().String()},
		"is a directory":                             {"--ledger", folder},
		"the gateway must be http or https":          {"--ledger", ledger, "--gateway", "127.0.0.1:8080"},
		"not settings of receipts":                   {"--ledger", ledger, "--receipts", `{"lost":1}`},
		`unknown command "everything" for "sandbox"`: {"everything"},
	} {
		cmd := command(io.Discard)
		cmd.SetArgs(args)
		require.ErrorContains(t, cmd.ExecuteContext(t.Context()), want)
	}
}
