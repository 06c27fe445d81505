package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each overlay renders its workers, and Kubernetes knows every object and field.
func TestKubernetes(t *testing.T) {
	t.Parallel()

	for overlay, workers := range map[string]int{"single": 1, "cluster": 4, "next": 1} {
		output := render(t, "../../deploy/kubernetes/"+overlay, workers)
		require.NotContains(t, output, "image: herald\n", "the overlay names the image")
	}
}

// An overlay may have the workers of two generations: the next ones read the same settings, and do
// not promote themselves.
func TestKubernetesNext(t *testing.T) {
	t.Parallel()

	for overlay, workers := range map[string]int{"single": 2, "cluster": 5} {
		folder, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		manifests, err := filepath.Abs("kubernetes")
		require.NoError(t, err)
		manifests, err = filepath.Rel(folder, manifests)
		require.NoError(t, err)
		both := fmt.Sprintf("kind: Kustomization\nresources: [%[1]s/%s, %[1]s/next]\n", manifests, overlay)
		require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(both), 0o600))

		output := render(t, folder, workers)

		require.Regexp(t,
			`(?s)name: herald-worker-next\n.*name: WORKER_PROMOTE\n +value: manual\n +envFrom:\n +- configMapRef:\n +name: herald-\w{10}\n.*image: \S+/herald:1.1\n`,
			output)
		require.Len(t, regexp.MustCompile(`image: \S+/herald:1.1\n`).FindAllString(output, -1), 1, overlay)
	}
}

// render returns the manifests of a folder, which must have a number of workers.
func render(t *testing.T, folder string, workers int) string {
	t.Helper()
	check := exec.CommandContext(t.Context(), "go", "run", ".", folder)
	check.Dir = "../tools/kubernetes"
	output, err := check.CombinedOutput()
	require.NoError(t, err, string(output))
	require.Len(t, regexp.MustCompile(`(?m)^ {8}- worker$`).FindAllString(string(output), -1), workers, folder)
	return string(output)
}
