package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"herald/tools/rig"
)

// startPrograms starts the workers, the gateway and the pollers.
func (s *stage) startPrograms(ctx context.Context) error {
	var ready []string
	for _, name := range []string{"worker 1", "worker 2", "gateway"} {
		admin, err := rig.FreeAddress()
		if err != nil {
			return err
		}
		p, err := s.program(name, admin)
		if err != nil {
			return err
		}
		if err := p.up(ctx); err != nil {
			return err
		}
		s.Running.AtEnd(p.stop)
		s.programs = append(s.programs, p)
		ready = append(ready, "http://"+admin+"/readyz")
	}
	for i, url := range ready {
		if err := rig.AwaitAnswer(ctx, url, s.programs[i].process); err != nil {
			return err
		}
	}
	return s.StartPollers(ctx, "lifecycle")
}

// program returns a program whose connections to the servers go over links.
func (s *stage) program(name, admin string) (*program, error) {
	p := &program{name: name}
	env := append(append([]string{}, s.Env...), "WORKER_HTTP_ADDR="+admin, "GATEWAY_ADMIN_ADDR="+admin)
	values := map[string]string{"DATABASE_URL": s.Database, "RABBITMQ_URL": s.VHost}
	for _, server := range serverNames[:3] { // Kafka's clients connect to the address that the broker names
		value := values[server.setting]
		if value == "" {
			value = os.Getenv(server.setting)
		}
		l, over, err := linkTo(server.setting, value)
		if err != nil {
			if name == "gateway" { // the reason is the same for each program
				s.without = append(s.without, fmt.Sprintf("cut and slow %s: %s", server.name, err))
			}
			continue
		}
		s.Running.AtEnd(func(context.Context) error { l.Close(); return nil })
		s.links[name], s.links[server.name] = append(s.links[name], l), append(s.links[server.name], l)
		env = append(env, server.setting+"="+over)
	}
	path := s.Program(strings.Fields(name)[0])
	p.start = func() (*rig.Process, error) { return rig.Start(env, path) }
	return p, nil
}
