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

// process is a program of Herald's that runs next to the benchmark.
type process struct {
	pid
	command *exec.Cmd
	log     *tail
	ended   chan struct{}
}

func startProcess(env []string, program string, args ...string) (*process, error) {
	p := &process{command: exec.Command(program, args...), log: &tail{}, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = env, p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt at the terminal is the benchmark's, which stops the pollers before their worker
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.pid = pid(p.command.Process.Pid)
	go func() {
		_ = p.command.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

func (p *process) stop() error {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.ended
	return nil
}

// alive is an error once the process has ended, with what it said last.
func (p *process) alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %s", filepath.Base(p.command.Path), p.log)
	default:
		return nil
	}
}

// tail keeps the end of what a process says.
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

// pid is a process of this machine. What the system does not tell of it is 0.
type pid int

// self is the benchmark.
func self() pid { return pid(os.Getpid()) }

// cpu is the time that the process has had of the processors, in hundredths of a second. That
// of children that have ended is part of it.
func (p pid) cpu() time.Duration {
	var ticks int
	for _, i := range []int{11, 12, 13, 14} { // user, system, and the children's
		ticks += p.stat(i)
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

// parent is the process that started it.
func (p pid) parent() pid { return pid(p.stat(1)) }

// stat is a field of /proc/PID/stat, counted from the one behind the name.
func (p pid) stat(field int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p))
	if err != nil {
		return 0
	}
	_, fields, _ := strings.Cut(string(text), ") ") // the name before it may hold spaces
	values := strings.Fields(fields)
	if len(values) <= field {
		return 0
	}
	value, _ := strconv.Atoi(values[field])
	return value
}

// resetPeak makes peakMemory count from now.
func (p pid) resetPeak() { _ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p), []byte("5"), 0) }

// peakMemory is the most bytes that the process has had of the machine's.
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
