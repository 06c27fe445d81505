package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"herald/tools/link"
	"herald/tools/testbed"
)

func (s *stage) startSandbox(ctx context.Context) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	if s.gateway, err = freeAddress(); err != nil {
		return err
	}
	provider, err := testbed.Start(os.Environ(), filepath.Join(s.bin, "sandbox"), "--local", "--addr", address,
		"--ledger", s.ledger(), "--gateway", "http://"+s.gateway, "--receipts", `{"delay":"300ms"}`)
	if err != nil {
		return err
	}
	s.running.AtEnd(func(context.Context) error { return provider.Stop() })
	s.sandbox = "http://" + address
	if err := awaitAnswer(ctx, s.sandbox+"/healthz", provider.Alive); err != nil {
		return err
	}
	for _, channel := range channels {
		if err := s.faultOf(channel, ordinary)(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startPrograms starts the workers, the gateway and the pollers.
func (s *stage) startPrograms(ctx context.Context) error {
	var ready []string
	for _, name := range []string{"worker 1", "worker 2", "gateway"} {
		admin, err := freeAddress()
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
		s.running.AtEnd(p.stop)
		s.programs = append(s.programs, p)
		ready = append(ready, "http://"+admin+"/readyz")
	}
	for i, url := range ready {
		if err := awaitAnswer(ctx, url, s.programs[i].process.Alive); err != nil {
			return err
		}
	}
	s.running.AtEnd(func(ctx context.Context) error {
		return errors.Join(s.starter(ctx, "poller", "stop"), testbed.EndWorkflows(ctx, s.name, "lifecycle"))
	})
	return s.starter(ctx, "poller", "start")
}

// program returns a program whose connections to the servers go over links.
func (s *stage) program(name, admin string) (*program, error) {
	p := &program{name: name, links: map[string]*link.Link{}}
	env := append(append([]string{}, s.env...), "WORKER_HTTP_ADDR="+admin, "GATEWAY_ADMIN_ADDR="+admin)
	values := map[string]string{"DATABASE_URL": s.database, "RABBITMQ_URL": s.vhost}
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
		s.running.AtEnd(func(context.Context) error { l.Close(); return nil })
		p.links[server.name] = l
		env = append(env, server.setting+"="+over)
	}
	path := filepath.Join(s.bin, strings.Fields(name)[0])
	p.start = func() (*testbed.Process, error) { return testbed.Start(env, path) }
	return p, nil
}

// freeAddress returns an address of this machine that no program uses.
func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// startTime limits the start of a program.
const startTime = 2 * time.Minute

// awaitAnswer waits until a GET returns 200, or the program has ended.
func awaitAnswer(ctx context.Context, url string, alive func() error) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		_, err := get(ctx, url)
		if err == nil {
			return nil
		}
		if ended := alive(); ended != nil {
			return ended
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return fmt.Errorf("no answer within %s: %w", startTime, err)
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return "", fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}
