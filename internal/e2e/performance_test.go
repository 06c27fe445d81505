package e2e_test

import (
	"context"
	"os/exec"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The commands of tools/bench/README.md measure all its figures, here with few rows, and remove the
// things they created.
func TestPerformanceDocument(t *testing.T) {
	t.Parallel()

	require.Equal(t, []string{"make bench\n", "make bench ARGS='relay-to-kafka relay-to-kafka-people'\n", "make bench ARGS='--against HEAD~1 deliveries broadcast'\n"}, runnable(t, "tools/bench/README.md"))
}

// The table has the figures of Herald and of the program that it is compared with, their ratio, and
// the result of each goal. The cases that relay to Kafka run with few rows.
func TestBenchmark(t *testing.T) {
	t.Parallel()

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, "make", "--silent", "--directory", "../..", "bench", "ARGS=--pairs 1 --warm-up 0 deliveries --events 2 --recipients 3"+
		" relay-to-kafka-people --rows 40 --batch 20 --keys 3"+
		" relay-memory --rows 50 --other-rows 5 relay-missing-topic --waiting 30 --seconds 1")
	bench.WaitDelay = time.Second
	said, err := bench.CombinedOutput()
	require.NoError(t, err, "%s", said)

	out := string(said)
	for _, printed := range []string{"deliveries: pair 1 of 1: A", "relay-to-kafka-people: pair 1 of 1: B", "A/B", "TO REACH", "Temporal 1"} {
		require.Contains(t, out, printed)
	}
	for _, figure := range []string{"deliveries, per second", "state transitions per delivery", "processor time of Temporal per delivery, ms"} {
		require.Regexp(t, regexp.QuoteMeta(figure)+` +\d`, out)
	}
	for _, figure := range []string{"rows, per second", "peak memory of the worker, MB", "to Kafka p99, ms"} {
		require.Regexp(t, figure+` +\d[\d.]* +\d[\d.]* +\d`, out)
	}
}
