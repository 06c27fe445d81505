package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"herald/tools/rig"
)

// disaster is a server's loss of its data, once in a run, in place of the other faults of servers.
type disaster struct {
	name, about string
	server      string
	needs       []string // flags with commands for the server
	faults      func(s *stage, c commands, length time.Duration) []timed
}

// timed is a fault that begins at a time of the run, once.
type timed struct {
	at time.Duration
	fault
}

const (
	// copyAge is the maximum age of the copy from which Temporal comes back.
	copyAge = 2 * time.Minute
	// restorePatience is the time for `starter` to succeed, although workers are killed meanwhile.
	restorePatience = 3 * time.Minute
)

var disasters = []disaster{
	{"temporal-lost", "Temporal loses its data; starter restore starts everything again", "temporal", []string{"kill", "wipe", "start"},
		func(s *stage, c commands, length time.Duration) []timed {
			lose := fault{
				"temporal", "lose its data",
				inTurn(c.at("kill", "temporal"), c.at("wipe", "temporal")), inTurn(c.at("start", "temporal"), s.restores),
			}
			return []timed{{length / 3, lose}}
		}},
	{"temporal-copy", "Temporal comes back from a copy that is up to two minutes old", "temporal", []string{"copy", "kill", "return", "start"},
		func(s *stage, c commands, length time.Duration) []timed {
			first := length / 5
			nothing := shell("")
			back := fault{
				"temporal", "back from the copy",
				inTurn(c.at("kill", "temporal"), c.at("return", "temporal")), inTurn(c.at("start", "temporal"), s.restores),
			}
			return []timed{{first, fault{"temporal", "copy", c.at("copy", "temporal"), nothing}}, {first + min(copyAge, length/3), back}}
		}},
	{"rabbitmq-lost", "RabbitMQ loses its queues; starter event publish publishes again", "rabbitmq", nil,
		func(s *stage, _ commands, length time.Duration) []timed {
			lose := fault{"rabbitmq", "lose its queues", s.losesVHost, inTurn(s.makesVHost, s.publishes)}
			return []timed{{length / 3, lose}}
		}},
	{"postgres-failover", "Postgres fails over to a synchronous standby", "postgres", []string{"copy", "kill", "return", "start"},
		func(_ *stage, c commands, length time.Duration) []timed {
			follow := fault{"postgres", "get a standby", c.at("copy", "postgres"), shell("")}
			fail := fault{"postgres", "fail over", inTurn(c.at("kill", "postgres"), c.at("return", "postgres")), c.at("start", "postgres")}
			return []timed{{length / 5, follow}, {length / 2, fail}}
		}},
}

// at returns a function that runs the command of a flag for a server.
func (c commands) at(flag, server string) func(context.Context) error { return shell(c[flag][server]) }

// possible returns an error that names a missing command.
func (d disaster) possible(c commands) error {
	for _, flag := range d.needs {
		if c[flag][d.server] == "" {
			return fmt.Errorf("--disaster %s needs --%s %s=COMMAND", d.name, flag, d.server)
		}
	}
	return nil
}

// inTurn returns a function that runs others until one fails.
func inTurn(all ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, run := range all {
			if err := run(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *stage) restores(ctx context.Context) error {
	return s.insists(ctx, "restore", "--rate", "500")
}

func (s *stage) publishes(ctx context.Context) error {
	return s.insists(ctx, "event", "publish", "--since", "1h", "--rate", "500", "--yes")
}

// insists repeats an operator's command until it succeeds.
func (s *stage) insists(ctx context.Context, args ...string) error {
	limited, cancel := context.WithTimeout(ctx, restorePatience)
	defer cancel()
	var last error
	err := rig.Await(limited, time.Second, func() (bool, error) {
		last = s.Starter(limited, args...)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

func (s *stage) losesVHost(ctx context.Context) error { return rig.DeleteVHost(ctx, s.Name) }

// makesVHost makes the vhost again, with the queue of the drill, as consumers do.
func (s *stage) makesVHost(ctx context.Context) error {
	if err := rig.MakeVHost(ctx, s.Name); err != nil {
		return err
	}
	return s.BindQueue()
}
