package e2e_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The commands of docs/performance.md measure all that it says, here with little, and remove
// what they made.
func TestPerformanceDocument(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{"make bench ARGS=relay-to-kafka\n", "make bench ARGS=sockets\n"}, runnable(t, "docs/performance.md"))
}

// runBench runs a case of the benchmark, and returns what it prints.
func runBench(t *testing.T, args string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, "make", "--silent", "--directory", "../..", "bench", "ARGS="+args)
	bench.WaitDelay = time.Second
	out, err := bench.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestBenchmarkOfSockets(t *testing.T) {
	t.Parallel()

	out := runBench(t, "sockets --sockets 4 --rate 4 --duration 2s")
	require.Regexp(t, `plain server +8 +8 +0 +0 `, out)
	require.Regexp(t, `gateway +8 +8 +0 +8 `, out)
}

func TestBenchmarkOfKafka(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "figures.json")
	out := runBench(t, "relay-to-kafka --rows 40 --batch 20 --keys 3 --workflow-rows 2 --rounds 1 --warm-up 0 --json "+file)
	for _, printed := range []string{"round 1 of 1: A", "Herald, mode: batch", "plain loop", "a workflow for each row", "A/B", "removing what was made"} {
		require.Contains(t, out, printed)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var found struct {
		Figures, Ratios []struct {
			Name   string
			Median float64
		}
	}
	require.NoError(t, json.Unmarshal(text, &found))
	require.Len(t, found.Figures, 3)
	for _, figure := range append(found.Figures, found.Ratios...) {
		require.Positive(t, figure.Median, figure.Name)
	}
}
