package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/client"
)

// herald is an installation that runs: one worker process that serves all, its poller, and the
// sandbox in place of the providers, which answers at once. E-mail is its channel.
type herald struct {
	*installation
	temporal client.Client
	sandbox  string // its base URL
	provider *process
}

// herald starts one, with settings in addition to the defaults.
func (s *stage) herald(ctx context.Context, settings ...string) (*herald, error) {
	return s.heraldServing(ctx, nil, settings...)
}

// heraldServing starts one whose worker serves a part.
func (s *stage) heraldServing(ctx context.Context, part []string, settings ...string) (*herald, error) {
	in, err := s.install(ctx)
	if err != nil {
		return nil, err
	}
	h := &herald{installation: in}
	if h.temporal, err = dialTemporal(ctx); err != nil {
		return nil, err
	}
	in.atEnd(func(context.Context) error { h.temporal.Close(); return nil })
	if err := h.startSandbox(ctx); err != nil {
		return nil, err
	}
	in.env = append(in.env, "SENDGRID_BASE_URL="+h.sandbox, "SENDGRID_API_KEY=SG.bench", "EMAIL_FROM=herald@example.com", "PUBLIC_URL=https://herald.example")
	in.env = append(in.env, settings...)
	if h.worker, err = in.startWorker(part...); err != nil {
		return nil, err
	}
	return h, in.startPollers(ctx)
}

func (h *herald) startSandbox(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	_ = listener.Close() // the sandbox takes the port
	h.provider, err = startProcess(h.env, h.program("sandbox"), "--local", "--addr", address, "--ledger", filepath.Join(h.dir, "ledger.ndjson"))
	if err != nil {
		return err
	}
	h.atEnd(func(context.Context) error { return h.provider.stop() })
	h.sandbox = "http://" + address
	return h.until(ctx, startTime, "the sandbox does not answer", func() (bool, error) {
		answer, err := http.Get(h.sandbox + "/healthz")
		if err != nil {
			return false, nil
		}
		return true, answer.Body.Close()
	})
}

// startTime bounds the start of a program.
const startTime = 30 * time.Second

// lookInterval is the time between two looks at what a round waits for. Rounds end by the times
// in the rows, so that few looks do.
const lookInterval = 100 * time.Millisecond

// until waits until done. It fails with a process that it depends on.
func (h *herald) until(ctx context.Context, limit time.Duration, otherwise string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		for _, p := range []*process{h.worker, h.provider} {
			if p != nil && p.alive() != nil {
				return p.alive()
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", otherwise, ctx.Err()), h.said())
		case <-time.After(lookInterval):
		}
	}
}

// said is the worker's last output.
func (h *herald) said() error {
	if h.worker == nil {
		return nil
	}
	return fmt.Errorf("the worker said last: %s", h.worker.log)
}

// count runs SQL that yields one number. The comment keeps it out of the statements that are
// counted.
func (in *installation) count(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = in.db.QueryRow(ctx, sql+notCounted, args...).Scan(&n)
	return n, err
}

// awaitCount waits until SQL yields a number.
func (h *herald) awaitCount(ctx context.Context, want int, sql string, args ...any) error {
	return h.until(ctx, roundTime, "a round does not end", func() (bool, error) {
		n, err := h.count(ctx, sql, args...)
		return n >= want, err
	})
}
