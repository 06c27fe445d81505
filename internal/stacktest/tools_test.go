package stacktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// If the list of vulnerabilities is unavailable, the check's last line says that it checked nothing. With
// --required, the check fails.
func TestVulnerabilitiesAreNotChecked(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		args   []string
		failed bool
	}{{nil, false}, {[]string{"--required"}, true}, {[]string{"--requird"}, true}} {
		command := exec.CommandContext(t.Context(), "../../tools/vulnerabilities.sh", tt.args...)
		command.Env = append(os.Environ(), "GOVULNDB=http://127.0.0.1:1")
		output, err := command.CombinedOutput()
		require.Equal(t, tt.failed, err != nil, string(output))
		lines := strings.Split(strings.TrimSpace(string(output)), "\n")
		require.Regexp(t, "^(vulnerabilities: NOT CHECKED, since http://127.0.0.1:1/|usage:)", lines[len(lines)-1])
	}
}

// A policy file from a killed call prevents every service of the machine from starting, so the
// next call removes it. It does not remove other policy files.
func TestStalePolicy(t *testing.T) {
	t.Parallel()

	const ours = "#!/bin/sh\n# of Herald's tools/stack: no service is started while a package is installed\nexit 101\n"
	for name, tt := range map[string]struct{ before, after string }{
		"none":           {"", ""},
		"ours":           {ours, ""},
		"somebody's own": {"#!/bin/sh\nexit 101\n", "#!/bin/sh\nexit 101\n"},
	} {
		folder := t.TempDir()
		policy := filepath.Join(folder, "policy-rc.d")
		if tt.before != "" {
			require.NoError(t, os.WriteFile(policy, []byte(tt.before), 0o755))
		}
		for _, command := range []string{"apt-get", "sudo"} {
			text := "#!/bin/sh\n[ $0 = " + folder + "/apt-get ] || exec \"$@\"\n"
			require.NoError(t, os.WriteFile(filepath.Join(folder, command), []byte(text), 0o755))
		}
		command := exec.CommandContext(t.Context(), "bash", "-euc",
			`source ../../tools/stack/process.sh; source ../../tools/stack/packages.sh; install_debian nothing 9>&1`)
		command.Env = append(os.Environ(), "HERALD_POLICY="+policy, "PATH="+folder+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, output)
		text, err := os.ReadFile(policy)
		require.Equal(t, tt.after == "", os.IsNotExist(err), name)
		require.Equal(t, tt.after, string(text), name)
	}
}
