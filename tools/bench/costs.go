package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// meter measures the CPU time of rounds. It leaves out processes that it cannot read, such as
// processes on other machines.
type meter struct {
	workers            []pid
	temporal, postgres pid // 0: not on this machine
	began              reading
}

// reading holds the CPU time so far, by program.
type reading map[string]time.Duration

// newMeter returns a meter for the rounds of one worker, which may consist of several processes.
func newMeter(ctx context.Context, in *installation, workers ...pid) *meter {
	_, port, _ := strings.Cut(os.Getenv("TEMPORAL_ADDRESS"), ":")
	m := &meter{workers: workers, temporal: running("temporal", port)}
	var backend int
	if in.db.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend) == nil && pid(backend).name() == "postgres" {
		m.postgres = pid(backend).parent()
	}
	return m
}

// begin starts the measurement of a round.
func (m *meter) begin() {
	for _, worker := range m.workers {
		worker.resetPeak()
	}
	m.began = m.read()
}

// end adds the costs since begin, divided by n, and the peak memory of the workers.
func (m *meter) end(f *figures, per string, n int) {
	m.costs(f, per, n)
	peak := 0
	for _, worker := range m.workers {
		peak += worker.peakMemory()
	}
	if peak > 0 {
		f.add("peak memory of the worker", "MB", float64(peak)/1e6)
	}
}

// costs adds the costs since begin, divided by n.
func (m *meter) costs(f *figures, per string, n int) {
	now := m.read()
	for _, program := range []string{"the worker", "Temporal", "Postgres"} {
		if used, has := now[program]; has {
			f.add("processor time of "+program+" per "+per, "ms", float64((used-m.began[program]).Microseconds())/1000/float64(n))
		}
	}
}

func (m *meter) read() reading {
	r := reading{}
	for _, worker := range m.workers {
		r["the worker"] += worker.cpu()
	}
	if m.temporal != 0 {
		r["Temporal"] = m.temporal.cpu()
	}
	if m.postgres != 0 {
		r["Postgres"] = m.postgres.cpu()
		for _, p := range pids() {
			if p.parent() == m.postgres {
				r["Postgres"] += p.cpu()
			}
		}
	}
	return r
}

// pids returns all processes of this machine.
func pids() (all []pid) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if n, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			all = append(all, pid(n))
		}
	}
	return all
}

// name returns the program's name, which Linux cuts at 15 characters.
func (p pid) name() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p))
	return strings.TrimSpace(string(text))
}

// running returns a process with a name and with an argument that ends in a text, or 0.
func running(name, argument string) pid {
	for _, p := range pids() {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p))
		if p.name() == name && strings.Contains(string(text), argument+"\x00") {
			return p
		}
	}
	return 0
}
