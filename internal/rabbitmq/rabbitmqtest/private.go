package rabbitmqtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// commandTimeout bounds one command, such as starting a node.
const commandTimeout = 2 * time.Minute

// Private is a node of its own, for tests that stop it or make it suffer.
type Private struct {
	Node
	dev  string
	base int
}

// NewPrivate reserves what a node needs, and does not start it. The node and its
// data are gone at the end of the test.
func NewPrivate(t testing.TB) *Private {
	t.Helper()
	base := freePorts(t)
	node := &Private{
		Node: Node{
			URL:        fmt.Sprintf("amqp://guest:guest@127.0.0.1:%d/", base+1),
			Management: fmt.Sprintf("http://guest:guest@127.0.0.1:%d", base+4),
		},
		dev:  t.TempDir(),
		base: base,
	}
	t.Cleanup(func() { node.stack(t, "destroy") })
	return node
}

// Start starts the node, with the data of its last run, and waits for it.
func (p *Private) Start(t testing.TB) {
	t.Helper()
	p.stack(t, "up")
}

// Kill ends the node as a power cut would.
func (p *Private) Kill(t testing.TB) {
	t.Helper()
	p.stack(t, "kill")
}

// Ctl runs rabbitmqctl on the node.
func (p *Private) Ctl(t testing.TB, args ...string) {
	t.Helper()
	p.run(t, ctl(t), append([]string{"--node", fmt.Sprintf("herald%d@localhost", p.base)}, args...)...)
}

func (p *Private) stack(t testing.TB, command string) {
	t.Helper()
	p.run(t, filepath.Join(root(t), "tools", "stack.sh"), command, "rabbitmq")
}

func (p *Private) run(t testing.TB, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout) // t.Context() is over at cleanup
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Env = p.environment()
	command.WaitDelay = time.Second // for a child that keeps the output open
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", filepath.Base(name), strings.Join(args, " "), output)
}

// environment is ours without the settings of any other node.
func (p *Private) environment() []string {
	var env []string
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "RABBITMQ_") {
			env = append(env, setting)
		}
	}
	return append(env,
		"HERALD_DEV="+p.dev,
		"HERALD_PORT_BASE="+strconv.Itoa(p.base),
		"HOME="+filepath.Join(p.dev, "rabbitmq"), // where the node's cookie is
		"ERL_EPMD_PORT="+strconv.Itoa(p.base+3),
	)
}

// ctl is the program itself where Debian hides it behind a script that changes
// the user, and with it the cookie.
func ctl(t testing.TB) string {
	t.Helper()
	const debian = "/usr/lib/rabbitmq/bin/rabbitmqctl"
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	path, err := exec.LookPath("rabbitmqctl")
	require.NoError(t, err)
	return path
}

// freePorts returns the first of five free ports, below those that the system
// gives to outgoing connections.
func freePorts(t testing.TB) int {
	t.Helper()
	for range 100 {
		base := 20_000 + rand.IntN(12_000)
		if allFree(base, base+5) {
			return base
		}
	}
	t.Fatal("no five free ports in a row")
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

// root is the folder of go.mod; tests run somewhere below it.
func root(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder
		}
		require.NotEqual(t, folder, filepath.Dir(folder), "no go.mod above the test")
		folder = filepath.Dir(folder)
	}
}
