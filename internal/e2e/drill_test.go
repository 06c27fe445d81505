package e2e_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The drill passes, and finds the defect that a build tag plants. It disrupts its own processes and
// links only, because other tests use the servers.
func TestDrill(t *testing.T) {
	t.Parallel()

	drill := filepath.Join(t.TempDir(), "drill")
	build(t, "-o", drill, "herald/tools/drill")
	for name, tt := range map[string]struct {
		defect   bool
		exitCode int
		report   string
	}{
		"sound":  {false, 0, `(?m)^\| lost \| 0 \|$`},
		"defect": {true, 1, `(?m)^\| lost \| [1-9]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			bin, reports := t.TempDir(), t.TempDir()
			for _, program := range []string{"worker", "gateway", "starter", "sandbox"} {
				if program != "worker" || !tt.defect {
					require.NoError(t, os.Symlink(filepath.Join(binaries, program), filepath.Join(bin, program)))
				}
			}
			settle := 5 * time.Minute
			if tt.defect {
				build(t, "-tags", "drill_defect", "-ldflags=-s -w", "-o", bin, "herald/worker")
				settle = 10 * time.Second // the receipts of lost messages never come
			}
			run := exec.CommandContext(t.Context(), drill, "--bin", bin, "--reports", reports, "--seed", "1", "--for", "30s", "--settle", settle.String(), "--people", "120", "--keep", "never")
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

// build runs go build.
func build(t *testing.T, args ...string) {
	t.Helper()
	said, err := exec.CommandContext(t.Context(), "go", append([]string{"build"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", said)
}
