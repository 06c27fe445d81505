package e2e_test

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// worker is one running worker process, or one of another program.
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
	s.eventually(func() bool {
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
	return s.launch("worker", []string{"WORKER_HTTP_ADDR=127.0.0.1:0"}, args...)
}

// launch starts a process with more settings, and does not wait.
func (s *system) launch(program string, settings []string, args ...string) *worker {
	s.t.Helper()
	w := &worker{t: s.t, output: &buffer{}, ended: make(chan struct{})}
	w.cmd = exec.Command(filepath.Join(s.programs, program), args...)
	w.cmd.Env = append(s.env[:len(s.env):len(s.env)], settings...)
	w.cmd.Stdout, w.cmd.Stderr = w.output, w.output
	require.NoError(s.t, w.cmd.Start())
	go func() {
		w.err = w.cmd.Wait()
		close(w.ended)
	}()
	s.t.Cleanup(func() {
		w.kill()
		if s.t.Failed() {
			s.t.Logf("%s output:\n%s", program, w.output.tail(16<<10))
		}
	})
	return w
}

// listensAt finds the address of the health endpoints in a worker's log.
var listensAt = regexp.MustCompile(`"msg":"health endpoints and metrics","addr":"([^"]+)"`)

// addr is the address of its health endpoints; empty until it has logged it.
func (w *worker) addr() string {
	if said := listensAt.FindStringSubmatch(w.output.String()); said != nil {
		return said[1]
	}
	return ""
}

// ready returns the status of /readyz; 0 if it does not answer.
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

// TestVersion asks all programs which build they are; a worker says it first of all.
func TestVersion(t *testing.T) {
	t.Parallel()

	build := regexp.MustCompile(`^(worker|starter|gateway) \S+ \(commit (\S+), go1\.\S+\)\n$`)
	for _, program := range []string{"worker", "starter", "gateway"} {
		out, err := exec.CommandContext(t.Context(), filepath.Join(binaries, program), "--version").Output()
		require.NoError(t, err)
		require.Regexp(t, build, string(out))
	}
	s := newSystem(t)
	w := s.startWorker()
	first, _, _ := strings.Cut(w.output.String(), "\n")
	require.Regexp(t, `"msg":"worker starts","version":"\S+","commit":"\S+","go":"go1\.`, first)
	require.Regexp(t, `(?m)^herald_build_info\{commit="\S+",go="go1\.\S+",version="\S+"\} 1$`, w.metrics())
}
