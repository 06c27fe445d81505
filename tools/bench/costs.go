package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/procfs"
)

// meter measures the processor time of rounds. It leaves out processes that it cannot read, such
// as processes on other machines.
type meter struct {
	workers            []int // process ids
	temporal, postgres int   // process ids; 0: not on this machine
	began              map[string]float64
}

// newMeter returns a meter for the rounds of one worker, which may consist of several processes.
func newMeter(ctx context.Context, db *pgxpool.Pool, workers ...int) *meter {
	m := &meter{workers: workers}
	_, port, _ := strings.Cut(os.Getenv("TEMPORAL_ADDRESS"), ":")
	var backend int
	_ = db.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&backend) // without a backend, the meter leaves out Postgres
	for _, p := range processes() {
		switch {
		case p.Comm == "postgres" && p.PID == backend:
			m.postgres = p.PPID
		case p.Comm == "temporal" && hasArgument(p.PID, port):
			m.temporal = p.PID
		}
	}
	return m
}

// processes returns all processes of this machine.
func processes() (all []procfs.ProcStat) {
	found, _ := procfs.AllProcs()
	for _, p := range found {
		if stat, err := p.Stat(); err == nil { // an error means that the process has ended
			all = append(all, stat)
		}
	}
	return all
}

// hasArgument reports whether an argument of the process ends in a text.
func hasArgument(pid int, end string) bool {
	p, _ := procfs.NewProc(pid)
	arguments, _ := p.CmdLine()
	return slices.ContainsFunc(arguments, func(a string) bool { return strings.HasSuffix(a, end) })
}

// begin starts the measurement of a round.
func (m *meter) begin() {
	for _, pid := range m.workers {
		_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // resets the peak of its memory
	}
	m.began = m.read()
}

// end adds the costs since begin, divided by n, and the peak memory of the workers.
func (m *meter) end(f *figures, per string, n int) {
	m.costs(f, per, n)
	var peak uint64
	for _, pid := range m.workers {
		if p, err := procfs.NewProc(pid); err == nil {
			status, _ := p.NewStatus()
			peak += status.VmHWM
		}
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
			f.add("processor time of "+program+" per "+per, "ms", (used-m.began[program])*1000/float64(n))
		}
	}
}

// read returns the processor time so far by program, in seconds, including ended children.
func (m *meter) read() map[string]float64 {
	used := map[string]float64{}
	for _, p := range processes() {
		seconds := p.CPUTime() + float64(p.CUTime+p.CSTime)/100
		switch {
		case slices.Contains(m.workers, p.PID):
			used["the worker"] += seconds
		case p.PID == m.temporal:
			used["Temporal"] += seconds
		case m.postgres != 0 && (p.PID == m.postgres || p.PPID == m.postgres):
			used["Postgres"] += seconds
		}
	}
	return used
}
