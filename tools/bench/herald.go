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

	"herald/tools/testbed"
)

// herald is a running installation: one worker process, its poller, and the sandbox as
// provider, which answers at once.
type herald struct {
	*installation
	temporal client.Client
	sandbox  string // base URL of the sandbox
}

// herald starts an installation with the defaults and additional settings.
func (s *stage) herald(ctx context.Context, settings ...string) (*herald, error) {
	return s.heraldServing(ctx, nil, settings...)
}

// heraldServing starts an installation whose worker has the arguments part, such as --events.
func (s *stage) heraldServing(ctx context.Context, part []string, settings ...string) (*herald, error) {
	in, err := s.install(ctx)
	if err != nil {
		return nil, err
	}
	h := &herald{installation: in}
	if h.temporal, err = testbed.DialTemporal(ctx); err != nil {
		return nil, err
	}
	in.AtEnd(func(context.Context) error { h.temporal.Close(); return nil })
	if err := h.startSandbox(ctx); err != nil {
		return nil, err
	}
	in.env = append(in.env, "SENDGRID_BASE_URL="+h.sandbox, "SENDGRID_API_KEY=SG.bench", "EMAIL_FROM=herald@example.com", "PUBLIC_URL=https://herald.example",
		"TWILIO_BASE_URL="+h.sandbox, "TWILIO_ACCOUNT_SID=ACbench", "TWILIO_AUTH_TOKEN=bench", "TWILIO_FROM=+15005550006")
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
	_ = listener.Close() // frees the port for the sandbox
	h.provider, err = testbed.Start(h.env, h.program("sandbox"), "--local", "--addr", address, "--ledger", filepath.Join(h.dir, "ledger.ndjson"))
	if err != nil {
		return err
	}
	h.AtEnd(func(context.Context) error { return h.provider.Stop() })
	h.sandbox = "http://" + address
	return h.until(ctx, startTime, "the sandbox does not answer", func() (bool, error) {
		answer, err := http.Get(h.sandbox + "/healthz")
		if err != nil {
			return false, nil
		}
		return true, answer.Body.Close()
	})
}

// startTime limits the start of a program.
const startTime = 30 * time.Second

// lookInterval is the time between two checks whether a round has ended. It may be long, because
// figures come from times in the rows.
const lookInterval = 100 * time.Millisecond

// until waits until done returns true. It fails if the worker or the sandbox has ended.
func (in *installation) until(ctx context.Context, limit time.Duration, otherwise string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		ok, err := done()
		if err != nil || ok {
			return err
		}
		for _, p := range []*testbed.Process{in.worker, in.provider} {
			if p != nil && p.Alive() != nil {
				return p.Alive()
			}
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s: %w", otherwise, ctx.Err()), in.said())
		case <-time.After(lookInterval):
		}
	}
}

// said returns the worker's last output as an error.
func (in *installation) said() error {
	if in.worker == nil {
		return nil
	}
	return fmt.Errorf("the worker said last: %s", in.worker.Output())
}

// count runs SQL that returns one number.
func (in *installation) count(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = in.db.QueryRow(ctx, sql, args...).Scan(&n)
	return n, err
}

// awaitCount waits until the SQL returns at least want.
func (in *installation) awaitCount(ctx context.Context, want int, sql string, args ...any) error {
	return in.until(ctx, roundTime, "a round does not end", func() (bool, error) {
		n, err := in.count(ctx, sql, args...)
		return n >= want, err
	})
}
