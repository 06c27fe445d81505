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

// notCounted marks the benchmark's statements, which the meter does not count.
const notCounted = " /* bench */"

// meter measures the costs of rounds: statements in Postgres, and CPU time of each process. It
// leaves out costs that it cannot read, such as processes on other machines.
type meter struct {
	in                 *installation
	workers            []pid
	temporal, postgres pid // 0: not on this machine
	began              reading
}

// reading holds the total costs at one moment.
type reading struct {
	statements map[string]float64       // by database
	cpu        map[string]time.Duration // by program
}

// newMeter returns a meter for the rounds of one worker, which may consist of several processes.
func newMeter(ctx context.Context, in *installation, workers ...pid) *meter {
	m := &meter{in: in, workers: workers, temporal: listener(os.Getenv("TEMPORAL_ADDRESS"))}
	var backend int
	if in.db.QueryRow(ctx, "SELECT pg_backend_pid()"+notCounted).Scan(&backend) == nil && pid(backend).name() == "postgres" {
		m.postgres = pid(backend).parent()
	}
	return m
}

// begin starts the measurement of a round.
func (m *meter) begin(ctx context.Context) {
	for _, worker := range m.workers {
		worker.resetPeak()
	}
	m.began = m.read(ctx)
}

// end adds the costs since begin, divided by n, and the peak memory of the workers.
func (m *meter) end(ctx context.Context, f *figures, per string, n int) {
	m.costs(ctx, f, per, n)
	peak := 0
	for _, worker := range m.workers {
		peak += worker.peakMemory()
	}
	if peak > 0 {
		f.add("peak memory of the worker", "MB", float64(peak)/1e6)
	}
}

// costs adds the costs since begin, divided by n.
func (m *meter) costs(ctx context.Context, f *figures, per string, n int) {
	now := m.read(ctx)
	for _, program := range []string{"the worker", "Temporal", "Postgres"} {
		if used, has := now.cpu[program]; has {
			f.add("processor time of "+program+" per "+per, "ms", float64((used-m.began.cpu[program]).Microseconds())/1000/float64(n))
		}
	}
	for _, database := range []string{"Herald", "Temporal"} {
		if counted, has := now.statements[database]; has && m.began.statements[database] <= counted {
			f.add("statements of "+database+" per "+per, "", (counted-m.began.statements[database])/float64(n))
		}
	}
}

func (m *meter) read(ctx context.Context) reading {
	r := reading{statements: m.statements(ctx), cpu: map[string]time.Duration{}}
	for _, worker := range m.workers {
		r.cpu["the worker"] += worker.cpu()
	}
	if m.temporal != 0 {
		r.cpu["Temporal"] = m.temporal.cpu()
	}
	if m.postgres != 0 {
		r.cpu["Postgres"] = m.postgres.cpu()
		for _, p := range pids() {
			if p.parent() == m.postgres {
				r.cpu["Postgres"] += p.cpu()
			}
		}
	}
	return r
}

// statements returns the number of statements in Herald's databases and in Temporal's, if they
// are on the same server. It returns nil without pg_stat_statements.
func (m *meter) statements(ctx context.Context) map[string]float64 {
	rows, err := m.in.db.Query(ctx, `
		SELECT CASE WHEN d.datname = current_database() THEN 'Herald' ELSE 'Temporal' END, sum(s.calls)::float8
		FROM   bench.pg_stat_statements(true) s
		JOIN   pg_database d ON d.oid = s.dbid
		WHERE  d.datname IN (current_database(), 'temporal', 'temporal_visibility')
		AND    s.query NOT LIKE '%/* bench */%'
		GROUP  BY 1`+notCounted)
	if err != nil {
		return nil
	}
	defer rows.Close()
	counts := map[string]float64{}
	for rows.Next() {
		var name string
		var calls float64
		if rows.Scan(&name, &calls) != nil {
			return nil
		}
		counts[name] = calls
	}
	return counts
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

// listener returns the process that listens on a local port, or 0.
func listener(address string) pid {
	_, port, _ := strings.Cut(address, ":")
	number, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	inode := listening(number)
	if inode == "" {
		return 0
	}
	for _, p := range pids() {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", p))
		for _, file := range files {
			if target, err := os.Readlink(file); err == nil && target == "socket:["+inode+"]" {
				return p
			}
		}
	}
	return 0
}

// listening returns the inode of the socket that listens on a port, or "".
func listening(port int) string {
	const listen = "0A"
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) > 9 && fields[3] == listen && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
				return fields[9]
			}
		}
	}
	return ""
}
