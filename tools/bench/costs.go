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

// notCounted marks the benchmark's own statements.
const notCounted = " /* bench */"

// meter reads what rounds cost: statements in Postgres, and the time that each process has had
// of the processors. What cannot be read here is left out, as the processes of servers that
// run elsewhere.
type meter struct {
	in                 *installation
	workers            []pid
	temporal, postgres pid // 0: not on this machine
	began              reading
}

// reading is the use until then.
type reading struct {
	statements map[string]float64       // by database
	cpu        map[string]time.Duration // by program
}

// newMeter is for the rounds of a worker, or of what several processes do of one.
func newMeter(ctx context.Context, in *installation, workers ...pid) *meter {
	m := &meter{in: in, workers: workers, temporal: listener(os.Getenv("TEMPORAL_ADDRESS"))}
	var backend int
	if in.db.QueryRow(ctx, "SELECT pg_backend_pid()"+notCounted).Scan(&backend) == nil && pid(backend).name() == "postgres" {
		m.postgres = pid(backend).parent()
	}
	return m
}

// begin is called before a round.
func (m *meter) begin(ctx context.Context) {
	for _, worker := range m.workers {
		worker.resetPeak()
	}
	m.began = m.read(ctx)
}

// end adds what has been used since begin, for each of n things, and how much memory at most.
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

// costs adds what has been used since begin, for each of n things.
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

// statements counts the statements of Herald's database and of Temporal's, if that is on the same
// server. Without pg_stat_statements there are none.
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

// pids are the processes of this machine.
func pids() (all []pid) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		if n, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			all = append(all, pid(n))
		}
	}
	return all
}

// name is its program's name, shortened by the system.
func (p pid) name() string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", p))
	return strings.TrimSpace(string(text))
}

// listener is the process that listens on a local port; 0: none is found.
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

// listening is the inode of the socket that listens on a port.
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
