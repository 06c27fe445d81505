package rabbitmq_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq/rabbitmqtest"
	"herald/internal/stacktest"
)

// privateNode is a node for tests that stop or overload it.
type privateNode struct {
	rabbitmqtest.Node
	stack *stacktest.Stack
}

// newPrivateNode reserves a folder and ports for a node, without starting it. The end of the test
// deletes the node and its data.
func newPrivateNode(t testing.TB) *privateNode {
	t.Helper()
	stack := stacktest.New(t)
	password := rand.Text() // known before the node creates one
	run := filepath.Join(stack.Dev, "run")
	require.NoError(t, os.MkdirAll(run, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(run, "rabbitmq.password"), []byte(password), 0o600))
	return &privateNode{
		Node: rabbitmqtest.Node{
			URL:        fmt.Sprintf("amqp://guest:%s@127.0.0.1:%d/", password, stack.Base+1),
			Management: fmt.Sprintf("http://guest:%s@127.0.0.1:%d", password, stack.Base+4),
		},
		stack: stack,
	}
}

// start starts the node with the data of its last run, and waits for it.
func (p *privateNode) start(t testing.TB) {
	t.Helper()
	p.stack.Run(t, "up", "rabbitmq")
}

// kill ends the node like a power cut.
func (p *privateNode) kill(t testing.TB) {
	t.Helper()
	p.stack.Run(t, "kill", "rabbitmq")
}

// ctl runs rabbitmqctl on the node.
func (p *privateNode) ctl(t testing.TB, args ...string) {
	t.Helper()
	settings := []string{
		"HOME=" + filepath.Join(p.stack.Dev, "rabbitmq"), // the folder of the node's cookie
		fmt.Sprintf("ERL_EPMD_PORT=%d", p.stack.Base+3),
	}
	p.stack.Command(t, rabbitmqctl(t), settings, append([]string{"--node", fmt.Sprintf("herald%d@localhost", p.stack.Base)}, args...)...)
}

// rabbitmqctl returns the program's path. Debian's wrapper on the PATH changes the user, and so the
// cookie. The program behind the wrapper does not.
func rabbitmqctl(t testing.TB) string {
	t.Helper()
	const debian = "/usr/lib/rabbitmq/bin/rabbitmqctl"
	if _, err := os.Stat(debian); err == nil {
		return debian
	}
	path, err := exec.LookPath("rabbitmqctl")
	require.NoError(t, err)
	return path
}
