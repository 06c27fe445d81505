package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"

	"herald/tools/rig"
)

// machine returns a line about the run's machine: CPUs, load before the run, and versions. It
// leaves out servers that do not answer.
func machine(ctx context.Context) string {
	var said []string
	say := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	say("%d CPUs that held everything", runtime.NumCPU())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		say("load average before: %s", strings.Join(strings.Fields(string(load))[:3], " "))
	}
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		say("Herald %s", strings.TrimSpace(string(commit)))
	}
	if conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL")); err == nil {
		say("Postgres %s", conn.PgConn().ParameterStatus("server_version"))
		_ = conn.Close(ctx)
	}
	if temporal, err := rig.DialTemporal(ctx); err == nil {
		defer temporal.Close()
		if answer, err := temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); err == nil {
			say("Temporal %s", answer.GetServerVersion())
		}
	}
	return strings.Join(append(said, runtime.Version()), "; ")
}
