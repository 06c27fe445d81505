package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// socketServer is a program that hands messages to sockets.
type socketServer struct {
	name         string
	path         string
	addr         string
	env          []string
	acknowledges bool // its clients do, too
	address      func(user string) (url string, protocols []string)

	process *os.Process
}

const (
	startTime = 30 * time.Second

	issuer   = "https://bench.example"
	audience = "herald"
	// signing is known to nobody else: the processes live as long as the run.
	signing = "benchmark benchmark benchmark benchmark"
)

// newSocketServers builds the programs, and makes the recipients.
func newSocketServers(ctx context.Context, in *installation, recipients int) ([]*socketServer, error) {
	if err := in.command(ctx, "go", "build", "-o", in.dir, "herald/gateway", "herald/bench/plainsockets"); err != nil {
		return nil, err
	}
	if err := in.command(ctx, in.program("starter"), "migrate", "up"); err != nil {
		return nil, err
	}
	const insert = "INSERT INTO recipient (user_type, user_id) SELECT 'CUSTOMER', i::text FROM generate_series(0, $1::int - 1) i"
	if _, err := in.db.Exec(ctx, insert, recipients); err != nil {
		return nil, err
	}
	free, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	return []*socketServer{
		{
			name: "plain server", path: filepath.Join(in.dir, "plainsockets"), addr: free[0], env: slices.Concat(in.env, []string{"GATEWAY_HTTP_ADDR=" + free[0]}),
			address: func(user string) (string, []string) { return "ws://" + free[0] + "/?user=" + user, nil },
		},
		{
			name: "gateway", path: filepath.Join(in.dir, "gateway"), addr: free[1], acknowledges: true,
			env: slices.Concat(in.env, []string{"GATEWAY_HTTP_ADDR=" + free[1], "GATEWAY_ADMIN_ADDR=" + free[2],
				"AUTH_ISSUER=" + issuer, "AUTH_AUDIENCE=" + audience, "AUTH_HS256_SECRET=" + signing}),
			address: func(user string) (string, []string) {
				return "ws://" + free[1] + "/ws", []string{"herald.v1", "bearer." + token(user)}
			},
		},
	}, nil
}

func token(user string) string {
	claims := jwt.MapClaims{"sub": user, "user_type": "CUSTOMER", "iss": issuer, "aud": audience, "exp": time.Now().Add(time.Hour).Unix()}
	signed, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(signing)) // a key of bytes always signs
	return signed
}

func freeAddresses(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close()
		addresses[i] = listener.Addr().String()
	}
	return addresses, nil
}

// start starts a server, and waits until it answers.
func (s *socketServer) start(ctx context.Context) error {
	log, err := os.Create(s.path + ".log")
	if err != nil {
		return err
	}
	defer log.Close()
	command := exec.CommandContext(ctx, s.path)
	command.Env, command.Stdout, command.Stderr = s.env, log, log
	if err := command.Start(); err != nil {
		return err
	}
	s.process = command.Process
	for deadline := time.Now().Add(startTime); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get("http://" + s.addr + "/")
		if err == nil {
			return answer.Body.Close()
		}
	}
	s.stop()
	said, _ := os.ReadFile(s.path + ".log")
	return fmt.Errorf("it does not answer: %s", said)
}

func (s *socketServer) stop() {
	_ = s.process.Signal(syscall.SIGTERM)
	_, _ = s.process.Wait()
}

// memory is the bytes that the process has of the machine's.
func (s *socketServer) memory() (int, error) { return pid(s.process.Pid).memory() }

// settledMemory waits until the process has not changed in size for five seconds.
func (s *socketServer) settledMemory(ctx context.Context) (int, error) {
	last, since := -1, time.Now()
	for {
		now, err := s.memory()
		if err != nil {
			return 0, err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) > 5*time.Second {
			return now, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// cpu is the time that the process has had of the processors.
func (s *socketServer) cpu() time.Duration { return pid(s.process.Pid).cpu() }
