package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"herald/tools/rig"
)

// program is a worker or the gateway. It is restarted when it ends, as by a supervisor.
type program struct {
	name  string
	start func() (*rig.Process, error)

	mu      sync.Mutex
	process *rig.Process
	down    bool     // killed by a fault
	ends    []string // the last output each time the program ended by itself
}

func (p *program) up(context.Context) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
	p.process, err = p.start()
	return err
}

func (p *program) kill(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	p.process.Kill()
	return nil
}

func (p *program) signal(signal syscall.Signal) func(context.Context) error {
	return func(context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.process.Signal(signal)
		return nil
	}
}

// supervise restarts the program until ctx ends, unless a fault killed it.
func (p *program) supervise(ctx context.Context) error {
	for sleep(ctx, time.Second) {
		p.mu.Lock()
		if err := p.process.Alive(); err != nil && !p.down {
			p.ends = append(p.ends, err.Error())
			if p.process, err = p.start(); err != nil {
				p.mu.Unlock()
				return fmt.Errorf("%s does not start again: %w", p.name, err)
			}
		}
		p.mu.Unlock()
	}
	return nil
}

func (p *program) stop(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.process.Signal(syscall.SIGCONT) // a frozen process does not end
	_ = p.process.Stop()              // it may have ended
	return nil
}

// faults returns the faults of the program, without faults of its links.
func (p *program) faults() []fault {
	return []fault{
		{p.name, "kill", p.kill, p.up},
		{p.name, "freeze", p.signal(syscall.SIGSTOP), p.signal(syscall.SIGCONT)},
	}
}
