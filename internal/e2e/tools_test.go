package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/tools/rig"
)

// The drill passes. If the providers lose messages, it fails. It disrupts only its own processes and
// links, because other tests use the servers.
func TestDrill(t *testing.T) {
	t.Parallel()

	drill := filepath.Join(t.TempDir(), "drill")
	require.NoError(t, rig.Run(t.Context(), nil, "go", "build", "-o", drill, "herald/tools/drill"))
	for name, tt := range map[string]struct {
		load     []string
		exitCode int
		report   string
	}{
		"sound": {[]string{"--for", "30s", "--rate", "1", "--settle", "5m"}, 0, `(?m)^\| lost \| 0 \|$`},
		// The receipts of lost messages never come.
		"lossy": {[]string{"--for", "20s", "--rate", "3", "--settle", "10s", "--lossy"}, 1, `(?m)^\| lost \| [1-9]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			reports := t.TempDir()
			args := append(tt.load, "--bin", binaries, "--reports", reports, "--seed", "1", "--people", "120", "--keep", "never")
			run := exec.CommandContext(t.Context(), drill, args...)
			said, err := run.CombinedOutput()

			code := 0
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			require.Equal(t, tt.exitCode, code, "%s", said)
			require.Regexp(t, tt.report, string(must(os.ReadFile(filepath.Join(reports, "drill-1.md")))(t)))
		})
	}
}

// The commands of tools/bench/README.md measure all figures of the page, here with few rows, and clean
// up.
func TestPerformanceDocument(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{
		"make bench\n", "make bench ARGS='relay-to-kafka relay-to-kafka-people'\n", "make bench ARGS='--against HEAD~1 deliveries broadcast'\n",
	}, runnable(t, "tools/bench/README.md"))
}

// The table has Herald's figures, the figures of the other program, their ratio, and the result of each
// goal. The cases that relay to Kafka run with few rows.
func TestBenchmark(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, "make", "--silent", "--directory", "../..", "bench",
		"ARGS=--pairs 1 --warm-up 0 deliveries --events 2 --recipients 3"+
			" relay-to-kafka-people --rows 40 --batch 20 --keys 3"+
			" relay-memory --rows 50 --other-rows 5 relay-missing-topic --waiting 30 --seconds 1")
	bench.WaitDelay = time.Second
	said, err := bench.CombinedOutput()
	require.NoError(t, err, "%s", said)

	out := string(said)
	for _, printed := range []string{"deliveries: pair 1 of 1: A", "relay-to-kafka-people: pair 1 of 1: B", "A/B", "TO REACH", "Temporal 1"} {
		require.Contains(t, out, printed)
	}
	for _, figure := range []string{
		"deliveries, per second", "state transitions per delivery", "processor time of Temporal per delivery, ms",
	} {
		require.Regexp(t, regexp.QuoteMeta(figure)+` +\d`, out)
	}
	for _, figure := range []string{"rows, per second", "peak memory of the worker, MB", "to Kafka p99, ms"} {
		require.Regexp(t, figure+` +\d[\d.]* +\d[\d.]* +\d`, out)
	}
}
