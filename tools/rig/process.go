package rig

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
)

// Process is a running program.
type Process struct {
	Command *exec.Cmd
	Output  *Output
	Ended   chan struct{} // closed when the process has ended

	err     error       // result of the process
	stopped atomic.Bool // [Process.Stop] was called
}

// Start starts a program with an environment. Ctrl-C does not reach it, so that the caller stops
// its programs in order.
func Start(env []string, program string, args ...string) (*Process, error) {
	command := exec.Command(program, args...)
	command.Env, command.SysProcAttr = env, &syscall.SysProcAttr{Setpgid: true}
	return StartCommand(command)
}

// StartCommand starts a command.
func StartCommand(command *exec.Cmd) (*Process, error) {
	p := &Process{Command: command, Output: &Output{}, Ended: make(chan struct{})}
	command.Stdout, command.Stderr = p.Output, p.Output
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = command.Wait()
		close(p.Ended)
	}()
	return p, nil
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.Command.Process.Pid }

// Stop asks the process to end, waits for its end and returns its error.
func (p *Process) Stop() error {
	p.stopped.Store(true)
	err := p.Command.Process.Signal(syscall.SIGTERM)
	return errors.Join(err, p.Wait())
}

// Kill ends the process like a power cut.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.Ended
}

// Wait waits for the end of the process and returns its error.
func (p *Process) Wait() error {
	<-p.Ended
	return p.err
}

// Signal sends a signal to the process, unless it has ended.
func (p *Process) Signal(signal syscall.Signal) { _ = p.Command.Process.Signal(signal) }

// Alive returns an error with the last output if the process has ended.
func (p *Process) Alive() error {
	select {
	case <-p.Ended:
		return fmt.Errorf("%s has ended: %w: %s", filepath.Base(p.Command.Path), p.err, strings.TrimSpace(p.Output.Tail(tailLength)))
	default:
		return nil
	}
}

// tailLength is the length of the last output in errors, in bytes.
const tailLength = 8 << 10

// Output is the output of a process so far. It is safe for concurrent use.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the output.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns the whole output.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Tail returns the last n bytes of the output.
func (o *Output) Tail(n int) string {
	text := o.String()
	return text[max(0, len(text)-n):]
}
