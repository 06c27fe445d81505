// Package stacktest runs private servers for tests that stop, kill or overload them, and
// cuts links to shared servers. All other tests share the stack of make test.
package stacktest

import (
	"bufio"
	"context"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/tools/link"
)

const (
	// ports is the maximum number of ports that a stack uses, starting at its base.
	ports = 21
	// commandTimeout limits one command, such as starting all servers.
	commandTimeout = 10 * time.Minute
)

// Stack is a folder and ports for servers that tools/stack.sh runs.
type Stack struct {
	Dev  string // folder of its state
	Base int    // first of its ports
}

// New reserves a folder and ports, and starts nothing. The end of the test stops the
// running servers and deletes their data.
func New(t testing.TB) *Stack {
	t.Helper()
	s := &Stack{Dev: t.TempDir(), Base: reservePorts(t)}
	t.Cleanup(func() { s.Run(t, "destroy") })
	return s
}

// Run calls tools/stack.sh, which returns when the servers answer. Run returns the output.
func (s *Stack) Run(t testing.TB, args ...string) string {
	t.Helper()
	return s.Command(t, filepath.Join(root(t), "tools", "stack.sh"), nil, args...)
}

// Command runs a program in the stack's environment, with additional settings.
func (s *Stack) Command(t testing.TB, program string, settings []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout) // t.Context() has ended at cleanup
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(s.environment(), settings...)
	command.WaitDelay = time.Second // a child may keep the output open
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", filepath.Base(program), strings.Join(args, " "), output)
	return string(output)
}

// Settings returns the addresses of the stack's servers, by their settings' names.
func (s *Stack) Settings(t testing.TB) map[string]string {
	t.Helper()
	settings := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(s.Run(t, "env"))); lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		settings[name] = strings.Trim(value, `'`)
	}
	return settings
}

// LinkTo returns a link to the server of a URL, and the URL of the link.
func LinkTo(t testing.TB, server string) (*link.Link, string) {
	t.Helper()
	parsed, err := url.Parse(server)
	require.NoError(t, err)
	l, err := link.To(parsed.Host)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	parsed.Host = l.Address()
	return l, parsed.String()
}

// environment returns the test's environment without settings that name other servers, because a test
// must not break these servers.
func (s *Stack) environment() []string {
	var env []string
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		switch {
		case name == "DATABASE_URL", name == "TEMPORAL_ADDRESS", name == "OUTBOX_SOURCES",
			strings.HasPrefix(name, "RABBITMQ_"), strings.HasPrefix(name, "KAFKA_"), strings.HasPrefix(name, "HERALD_"):
		default:
			env = append(env, setting)
		}
	}
	return append(env, "HERALD_DEV="+s.Dev, "HERALD_PORT_BASE="+strconv.Itoa(s.Base))
}

// reservePorts returns the first of a row of free ports, below the ports that the system gives
// to outgoing connections. Until the end of the test, a listener on the port after the row
// reserves the row against other tests.
func reservePorts(t testing.TB) int {
	t.Helper()
	const first, rows = 20_000, 12_000 / (ports + 1)
	for range rows {
		base := first + rand.IntN(rows)*(ports+1)
		holder, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(base+ports))
		if err != nil {
			continue
		}
		if allFree(base, base+ports) {
			t.Cleanup(func() { _ = holder.Close() })
			return base
		}
		_ = holder.Close()
	}
	t.Fatalf("no %d free ports in a row", ports)
	return 0
}

func allFree(from, to int) bool {
	for port := from; port < to; port++ {
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

// root returns the folder of go.mod.
func root(t testing.TB) string {
	t.Helper()
	module, err := exec.Command("go", "env", "GOMOD").Output()
	require.NoError(t, err)
	return filepath.Dir(string(module))
}
