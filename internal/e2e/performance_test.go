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

// The command of docs/performance.md measures all that it says, here with few rows, and
// removes what it made.
func TestPerformanceDocument(t *testing.T) {
	t.Parallel()

	const command = "make bench ARGS=relay-to-kafka"
	require.Equal(t, []string{command + "\n"}, runnable(t, "docs/performance.md"))
	file := filepath.Join(t.TempDir(), "figures.json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	bench := exec.CommandContext(ctx, "make", "--silent", "--directory", "../..", "bench",
		"ARGS=relay-to-kafka --rows 40 --batch 20 --keys 3 --workflow-rows 2 --rounds 1 --warm-up 0 --json "+file)
	bench.WaitDelay = time.Second
	out, err := bench.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, printed := range []string{"round 1 of 1: A", "Herald, mode: batch", "plain loop", "a workflow for each row", "A/B", "removing what was made"} {
		require.Contains(t, string(out), printed)
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
