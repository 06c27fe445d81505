package deploy_test

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each overlay renders its workers, and Kubernetes knows every object and field.
func TestKubernetes(t *testing.T) {
	t.Parallel()

	for overlay, workers := range map[string]int{"single": 1, "cluster": 4} {
		check := exec.CommandContext(t.Context(), "go", "run", ".", "../../deploy/kubernetes/"+overlay)
		check.Dir = "../tools/kubernetes"
		output, err := check.CombinedOutput()
		require.NoError(t, err, string(output))
		require.Len(t, regexp.MustCompile(`(?m)^ {8}- worker$`).FindAllString(string(output), -1), workers, overlay)
		require.NotContains(t, string(output), "image: herald\n", "the overlay names the image")
	}
}
