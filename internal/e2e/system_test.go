package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/sandbox"
	"herald/workflows"
)

// binaries is the folder of the real worker and starter, built once.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "herald-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	build := exec.Command("go", "build", "-o", dir, "herald/worker", "herald/starter")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the binaries:", err)
		return 1
	}
	binaries = dir
	return m.Run()
}

// servers are the addresses of one local stack.
type servers struct {
	databaseURL, rabbitURL, temporalAddress string
}

// system is one installation of Herald on real servers: a database, a vhost and
// a task-queue prefix of its own, the sandbox in the place of all providers,
// and real worker processes.
type system struct {
	t        *testing.T
	name     string // prefix of its queues and event ids
	servers  servers
	store    *postgres.Store
	temporal client.Client
	sandbox  *httptest.Server
	env      []string
}

// newSystem sets an installation up on the shared stack; settings override the
// tests' own.
func newSystem(t *testing.T, settings ...string) *system {
	t.Helper()
	address := os.Getenv("TEMPORAL_ADDRESS")
	require.NotEmpty(t, address, "TEMPORAL_ADDRESS is not set: run make test")
	return newSystemOn(t, servers{postgrestest.URL(t), rabbitmqtest.VHost(t), address}, settings...)
}

func newSystemOn(t *testing.T, on servers, settings ...string) *system {
	t.Helper()
	s := &system{t: t, name: "e2e-" + uuid.NewString()[:8], servers: on}

	providers, err := sandbox.New(sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Local: true})
	require.NoError(t, err)
	s.sandbox = httptest.NewServer(providers)
	t.Cleanup(func() {
		s.sandbox.CloseClientConnections()
		s.sandbox.Close()
		_ = providers.Close()
	})

	s.store, err = postgres.Open(t.Context(), on.databaseURL, "herald-e2e")
	require.NoError(t, err)
	t.Cleanup(s.store.Close)
	s.temporal, err = client.Dial(client.Options{HostPort: on.temporalAddress, Logger: log.NewStructuredLogger(discard())})
	require.NoError(t, err)
	t.Cleanup(s.temporal.Close)
	t.Cleanup(s.unschedule)

	s.env = append(s.environment(), settings...)
	return s
}

func (s *system) environment() []string {
	fake := s.sandbox.URL
	return append(os.Environ(),
		"DATABASE_URL="+s.servers.databaseURL,
		"RABBITMQ_URL="+s.servers.rabbitURL,
		"TEMPORAL_ADDRESS="+s.servers.temporalAddress,
		"TASK_QUEUE_PREFIX="+s.name,
		"SENDGRID_BASE_URL="+fake, "SENDGRID_API_KEY=SG.e2e", "EMAIL_FROM=herald@example.com", "EMAIL_FROM_NAME=Herald",
		"TWILIO_BASE_URL="+fake, "TWILIO_ACCOUNT_SID=AC00000000000000000000000000000000", "TWILIO_AUTH_TOKEN=e2e", "TWILIO_FROM=+15005550006",
		"FCM_BASE_URL="+fake+"/v1", "FCM_PROJECT_ID=herald-e2e",
		"SLACK_ALLOWED_HOSTS="+strings.TrimPrefix(fake, "http://"),
		"PUBLIC_URL=http://localhost:8080",
		"EMAIL_RETRY_INTERVAL=200ms", "PUSH_RETRY_INTERVAL=200ms", "SMS_RETRY_INTERVAL=200ms",
		"EMAIL_TIMEOUT=30s", "PUSH_TIMEOUT=30s", "SMS_TIMEOUT=30s", "SLACK_TIMEOUT=30s", "WEBSOCKET_TIMEOUT=30s", // a busy machine takes its time, and a timeout repeats a message
	)
}

// unschedule leaves no sweep to Temporal, whose other tests go on.
func (s *system) unschedule() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = s.temporal.ScheduleClient().GetHandle(ctx, workflows.SweepID(s.name)).Delete(ctx) // there may be none
}

// worker is one running worker process.
type worker struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *buffer
	ended  chan struct{}
	err    error // how it ended; after ended
}

// startWorker starts a worker process and waits until it is ready.
func (s *system) startWorker(args ...string) *worker {
	s.t.Helper()
	w := s.launchWorker(args...)
	s.eventually(time.Minute, func() bool {
		select {
		case <-w.ended:
			s.t.Fatalf("worker ended early: %v\n%s", w.err, w.output)
		default:
		}
		return w.ready() == http.StatusOK
	}, "worker is not ready:\n%s", w.output)
	return w
}

// launchWorker starts a worker process and does not wait.
func (s *system) launchWorker(args ...string) *worker {
	s.t.Helper()
	w := &worker{t: s.t, output: &buffer{}, ended: make(chan struct{})}
	w.cmd = exec.Command(filepath.Join(binaries, "worker"), args...)
	w.cmd.Env = append(s.env, "WORKER_HTTP_ADDR=127.0.0.1:0")
	w.cmd.Stdout, w.cmd.Stderr = w.output, w.output
	require.NoError(s.t, w.cmd.Start())
	go func() {
		w.err = w.cmd.Wait()
		close(w.ended)
	}()
	s.t.Cleanup(func() {
		w.kill()
		if s.t.Failed() {
			s.t.Logf("worker output:\n%s", w.output.tail(16<<10))
		}
	})
	return w
}

// listensAt is what a worker logs of its health endpoints.
var listensAt = regexp.MustCompile(`"msg":"health endpoints and metrics","addr":"([^"]+)"`)

// addr is where its health endpoints are; empty before it has said so.
func (w *worker) addr() string {
	if said := listensAt.FindStringSubmatch(w.output.String()); said != nil {
		return said[1]
	}
	return ""
}

// ready is the status of /readyz; 0 without an answer.
func (w *worker) ready() int {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.addr()+"/readyz", nil)
	require.NoError(w.t, err)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// kill ends the process as a power cut would.
func (w *worker) kill() {
	_ = w.cmd.Process.Kill() // it may have ended already
	<-w.ended
}

// stop asks the process to end, waits for it and returns how it ended.
func (w *worker) stop() error {
	require.NoError(w.t, w.cmd.Process.Signal(syscall.SIGTERM))
	<-w.ended
	return w.err
}

// starter runs the operator's command and returns what it printed. It must succeed.
func (s *system) starter(args ...string) string {
	s.t.Helper()
	out, err := s.tryStarter(args...)
	require.NoError(s.t, err, "starter %s: %s", strings.Join(args, " "), out)
	return out
}

func (s *system) tryStarter(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binaries, "starter"), args...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// exec runs SQL that prepares the ground.
func (s *system) exec(sql string, args ...any) {
	s.t.Helper()
	_, err := s.store.Pool.Exec(s.t.Context(), sql, args...)
	require.NoError(s.t, err)
}

// count runs SQL that yields one number. A database that is out of reach yields -1.
func (s *system) count(sql string, args ...any) int {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	var n int
	if err := s.store.Pool.QueryRow(ctx, sql, args...).Scan(&n); err != nil {
		s.t.Logf("count: %v", err)
		return -1
	}
	return n
}

// eventually waits until condition holds. within is far more than an idle
// machine needs; a busy one gets several times that.
func (s *system) eventually(within time.Duration, condition func() bool, message string, args ...any) {
	s.t.Helper()
	deadline := time.Now().Add(4 * within)
	for !condition() {
		if time.Now().After(deadline) {
			s.t.Fatalf(message, args...)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// fault makes the sandbox's provider of a channel misbehave.
func (s *system) fault(channel string, fault string) {
	s.t.Helper()
	s.put(http.MethodPut, "/faults/"+channel, fault)
}

// mend ends all faults.
func (s *system) mend() {
	s.t.Helper()
	s.put(http.MethodDelete, "/faults", "")
}

func (s *system) put(method, path, body string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.sandbox.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, _ := io.ReadAll(answer.Body)
	require.Less(s.t, answer.StatusCode, 300, "%s", text)
}

// accepted counts, by delivery id, the messages that the providers took.
func (s *system) accepted() map[string]int {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.sandbox.URL+"/ledger", nil)
	require.NoError(s.t, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	counts := map[string]int{}
	for lines := json.NewDecoder(answer.Body); ; {
		var line struct {
			DeliveryID string `json:"delivery_id"`
			Accepted   bool   `json:"accepted"`
		}
		if err := lines.Decode(&line); err == io.EOF {
			return counts
		} else {
			require.NoError(s.t, err)
		}
		if line.Accepted {
			counts[line.DeliveryID]++
		}
	}
}

// buffer collects a process's output; it is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func (b *buffer) tail(n int) string {
	text := b.String()
	return text[max(0, len(text)-n):]
}
