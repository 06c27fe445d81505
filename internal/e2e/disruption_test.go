package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// randomShare is a number between a tenth and nine tenths of n.
func randomShare(n int) int { return n/10 + rand.IntN(n*8/10) }

// privateStack is a local stack that a test may break.
type privateStack struct {
	t       *testing.T
	env     []string
	servers servers
}

// newPrivateStack starts Postgres, RabbitMQ and Temporal beside those that the
// other tests share.
func newPrivateStack(t *testing.T) *privateStack {
	t.Helper()
	p := &privateStack{t: t}
	for _, variable := range os.Environ() {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "DATABASE_URL", "RABBITMQ_URL", "TEMPORAL_ADDRESS": // those servers are not ours to break
		default:
			p.env = append(p.env, variable)
		}
	}
	p.env = append(p.env, "HERALD_DEV="+filepath.Join(t.TempDir(), "dev"), fmt.Sprintf("HERALD_PORT_BASE=%d", freePorts(t)))
	t.Cleanup(func() { p.run("down") })
	p.run("up")
	addresses := p.addresses()
	p.servers = servers{addresses["DATABASE_URL"], addresses["RABBITMQ_URL"], addresses["TEMPORAL_ADDRESS"]}
	return p
}

// run calls tools/stack.sh, which says when the servers answer.
func (p *privateStack) run(args ...string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "../../tools/stack.sh", args...)
	cmd.Env = p.env
	out, err := cmd.CombinedOutput()
	require.NoError(p.t, err, "stack.sh %v: %s", args, out)
	return string(out)
}

func (p *privateStack) addresses() map[string]string {
	addresses := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(p.run("env"))); lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "=")
		addresses[name] = strings.Trim(value, `'"`)
	}
	return addresses
}

// freePorts finds the base of 20 ports that nobody listens on.
func freePorts(t *testing.T) int {
	t.Helper()
	for range 50 {
		base := 20000 + 20*rand.IntN(600)
		if portsFree(base, 20) {
			return base
		}
	}
	t.Fatal("found no free ports")
	return 0
}

func portsFree(base, n int) bool {
	for port := base; port < base+n; port++ {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

func TestServersDisrupted(t *testing.T) {
	t.Parallel()

	const events = 100
	stack := newPrivateStack(t)
	s := newSystemOn(t, stack.servers)
	s.prepareLoad()
	s.startWorker()
	s.starter("poller", "start")

	disruptions := []struct {
		name    string
		disrupt func()
	}{
		{"postgres", func() {
			stack.env = append(stack.env, "HERALD_PG_STOP_MODE=immediate")
			stack.run("down", "postgres")
			stack.run("up", "postgres")
		}},
		{"rabbitmq", func() {
			stack.run("down", "rabbitmq")
			time.Sleep(10 * time.Second) // the outage is what is tested
			stack.run("up", "rabbitmq")
		}},
		{"temporal", func() {
			stack.run("down", "temporal")
			stack.run("up", "temporal")
		}},
	}
	var rounds []string
	for i, d := range disruptions {
		s.writeEvents(d.name, events)
		target := i*events*loadChannels + randomShare(events*loadChannels)
		s.eventually(3*time.Minute, func() bool {
			return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) >= target
		}, "%s: %d deliveries were never reached", d.name, target)
		d.disrupt()
		rounds = append(rounds, d.name)
		s.waitForLoad((i+1)*events, 4*time.Minute)
	}
	// A server that dies between a provider's answer and our record leaves at
	// most what was under way.
	s.requireLedger(rounds, events, len(disruptions)*slots)
	s.requirePublished(len(rounds) * events)
}
