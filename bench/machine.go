package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/api/workflowservice/v1"
)

// machine says on what a run was made. What the system does not tell is left out.
func machine() map[string]any {
	m := map[string]any{"cpus": runtime.NumCPU(), "os": runtime.GOOS, "arch": runtime.GOARCH}
	if name := lineOf("/proc/cpuinfo", "model name"); name != "" {
		m["processor"] = name
	}
	if kilobytes, err := strconv.Atoi(strings.TrimSuffix(lineOf("/proc/meminfo", "MemTotal"), " kB")); err == nil {
		m["memory_gb"] = kilobytes >> 20
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m["load_average_before"] = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	return m
}

// lineOf is what a file of the system has behind a name and a colon.
func lineOf(file, name string) string {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return ""
}

// versions are those of all that took part. A server that does not answer is left out: the
// cases say so.
func versions(ctx context.Context) map[string]string {
	v := map[string]string{"go": runtime.Version()}
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		v["herald"] = strings.TrimSpace(string(commit))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "go.temporal.io/sdk" {
				v["temporal_sdk"] = module.Version
			}
		}
	}
	if conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL")); err == nil {
		var postgres string
		if conn.QueryRow(ctx, "SHOW server_version").Scan(&postgres) == nil {
			v["postgres"] = postgres
		}
		_ = conn.Close(ctx)
	}
	if temporal, err := dialTemporal(ctx); err == nil {
		defer temporal.Close()
		if answer, err := temporal.WorkflowService().GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); err == nil {
			v["temporal_server"] = answer.GetServerVersion()
		}
	}
	return v
}

// machine is a line for people.
func (r *tableReport) machine() string {
	return fmt.Sprintf("%v CPUs (%v) and %v GB that held everything, load average %v before; Postgres %s, Temporal %s with SDK %s, %s, Herald %s",
		r.Machine["cpus"], r.Machine["processor"], r.Machine["memory_gb"], r.Machine["load_average_before"],
		r.Versions["postgres"], r.Versions["temporal_server"], r.Versions["temporal_sdk"], r.Versions["go"], r.Versions["herald"])
}
