package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"herald/tools/link"
	"herald/tools/testbed"
)

// program is a worker or the gateway. It starts again when it has ended, as under a supervisor.
type program struct {
	name  string
	start func() (*testbed.Process, error)
	links map[string]*link.Link // to the servers

	mu      sync.Mutex
	process *testbed.Process
	down    bool     // killed by a fault
	ends    []string // the last output, each time that it ended by itself
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
	return p.process.Stop()
}

// faults returns what can happen to the program.
func (p *program) faults() []fault {
	var links []*link.Link
	for _, l := range p.links {
		links = append(links, l)
	}
	return append(linkFaults(p.name, links),
		fault{p.name, "kill", p.kill, p.up},
		fault{p.name, "freeze", p.signal(syscall.SIGSTOP), p.signal(syscall.SIGCONT)})
}

// slowness is the delay of all that passes a slow link, in each direction.
const slowness = 200 * time.Millisecond

// linkFaults returns the faults of links.
func linkFaults(target string, links []*link.Link) []fault {
	if len(links) == 0 {
		return nil
	}
	each := func(do func(*link.Link)) func(context.Context) error {
		return func(context.Context) error {
			for _, l := range links {
				do(l)
			}
			return nil
		}
	}
	mend := each((*link.Link).Mend)
	return []fault{
		{target, "cut", each((*link.Link).Cut), mend},
		{target, "slow", each(func(l *link.Link) { l.Slow(slowness) }), mend},
	}
}
