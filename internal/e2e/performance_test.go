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

	require.Equal(t, []string{"make bench\n", "make bench ARGS=relay-to-kafka\n", "make bench ARGS=sockets\n"}, runnable(t, "docs/performance.md"))
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

// The table runs Herald beside what it is compared with, and has the figures of both, their
// ratio, and what became of each goal.
func TestBenchmarkTable(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "figures.json")
	out := runBench(t, "--pairs 1 --warm-up 0 --json "+file+" deliveries --events 2 --recipients 3 relay --events 2 latency --rate 3 --recipients 1 --seconds 1")
	for _, printed := range []string{"deliveries: pair 1 of 1: A", "deliveries: pair 1 of 1: B", "A/B", "TO REACH", "state transitions per delivery", "to the provider p99, ms"} {
		require.Contains(t, out, printed)
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	type side struct{ Median float64 }
	var found struct {
		Machine, Versions map[string]any
		Cases             []struct {
			Name    string
			Figures []struct {
				Name        string
				A, B, Ratio *side
			}
			Goals []struct{ Figure string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &found))
	require.NotEmpty(t, found.Machine["cpus"])
	require.NotEmpty(t, found.Versions["temporal_server"])
	require.Len(t, found.Cases, 3)
	for _, c := range found.Cases {
		require.NotEmpty(t, c.Goals, c.Name)
		names := map[string]bool{}
		for _, figure := range c.Figures {
			names[figure.Name] = figure.A != nil && figure.A.Median > 0 && figure.B != nil && figure.B.Median >= 0
		}
		for _, goal := range c.Goals {
			require.True(t, names[goal.Figure], "%s: %s", c.Name, goal.Figure)
		}
	}
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
	out := runBench(t, "relay-to-kafka --rows 40 --batch 20 --keys 3 --people-rows 40 --rounds 1 --warm-up 0 --json "+file)
	for _, printed := range []string{"round 1 of 1: A", "Herald", "plain loop", "people told as well", "A/B", "C/D", "removing what was made"} {
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
	require.Len(t, found.Figures, 4)
	for _, figure := range append(found.Figures, found.Ratios...) {
		require.Positive(t, figure.Median, figure.Name)
	}
}
