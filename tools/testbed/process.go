package testbed

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Process is a running program of Herald.
type Process struct {
	PID int

	command *exec.Cmd
	log     *tail
	ended   chan struct{}
}

// Start starts a program with an environment. Ctrl-C does not reach it, so that the caller stops
// its programs in order.
func Start(env []string, program string, args ...string) (*Process, error) {
	p := &Process{command: exec.Command(program, args...), log: &tail{}, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = env, p.log, p.log
	p.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	p.PID = p.command.Process.Pid
	go func() {
		_ = p.command.Wait() // Alive reports the end with the log
		close(p.ended)
	}()
	return p, nil
}

// Stop asks the process to end, and waits for its end. The error is always nil.
func (p *Process) Stop() error { return p.end(syscall.SIGTERM) }

// Kill ends the process at once.
func (p *Process) Kill() { _ = p.end(syscall.SIGKILL) }

func (p *Process) end(by syscall.Signal) error {
	p.Signal(by)
	<-p.ended
	return nil
}

// Signal sends a signal to the process, unless it has ended.
func (p *Process) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Alive returns an error with the last output if the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %s", filepath.Base(p.command.Path), p.log)
	default:
		return nil
	}
}

// Output returns the end of the output.
func (p *Process) Output() string { return p.log.String() }

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
