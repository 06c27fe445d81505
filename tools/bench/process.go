package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program of Herald that runs next to the benchmark.
type process struct {
	pid
	command *exec.Cmd
	log     *tail
	ended   chan struct{}
}

func startProcess(env []string, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), log: &tail{}, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = env, p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches only the benchmark, which stops the pollers before the worker
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.pid = pid(p.command.Process.Pid)
	go func() {
		_ = p.command.Wait() // alive reports the end with the log
		close(p.ended)
	}()
	return p, nil
}

func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // fails if it has ended already
	<-p.ended
	return nil
}

// alive returns an error with the last output if the process has ended.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %s", filepath.Base(p.command.Path), p.log)
	default:
		return nil
	}
}

// tail keeps the last tailLength bytes of a process's output.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailLength = 8 << 10 // bytes

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - tailLength; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}

// pid is a process of this machine. Its methods return 0 for values that they cannot read.
type pid int

// self returns the benchmark's process.
func self() pid { return pid(os.Getpid()) }

// cpu returns the CPU time of the process and of its ended children. It is exact to a hundredth
// of a second.
func (p pid) cpu() time.Duration {
	var ticks int
	for _, i := range []int{11, 12, 13, 14} { // user and system time, and the same of ended children
		ticks += p.stat(i)
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// parent returns the parent process.
func (p pid) parent() pid { return pid(p.stat(1)) }

// stat returns a field of /proc/PID/stat. Field 0 follows the name.
func (p pid) stat(field int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the name may contain spaces
	values := strings.Fields(fields)
	if len(values) <= field {
		return 0
	}
	value, _ := strconv.Atoi(values[field])
	return value
}

// resetPeak resets the peak that peakMemory returns.
func (p pid) resetPeak() { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0) }

// peakMemory returns the peak of the process's resident memory, in bytes.
func (p pid) peakMemory() int { return p.status("VmHWM:") }

func (p pid) status(name string) int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p))
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == name {
			kilobytes, _ := strconv.Atoi(fields[1])
			return kilobytes << 10
		}
	}
	return 0
}
