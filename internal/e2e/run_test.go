package e2e_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/tools/rig"
	"herald/tools/sandbox"
)

// tools/run.sh starts its programs. An e-mail gets a receipt and an unsubscribe link, and a signal
// ends all programs. Without --yes the script refuses the servers of the test.
func TestRun(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	providers, gateway := must(rig.FreeAddress())(t), must(rig.FreeAddress())(t)
	s.starter("seed", "--slack-url", "http://"+providers)
	s.fill(postgrestest.Category{EventType: "RESERVATION_CONFIRMED", Category: "your_bookings"})
	s.env = append(s.env, "HERALD_BIN="+binaries, "SANDBOX_ADDR="+providers,
		"WORKER_HTTP_ADDR="+must(rig.FreeAddress())(t), "GATEWAY_HTTP_ADDR="+gateway, "GATEWAY_ADMIN_ADDR="+must(rig.FreeAddress())(t))
	refused := exec.CommandContext(t.Context(), "../../tools/run.sh")
	refused.Env = s.env
	said, err := refused.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(said), "DATABASE_URL")
	require.Contains(t, string(said), "repeat with --yes")

	output := &rig.Output{}
	run := exec.Command("../../tools/run.sh", "--yes")
	run.Env, run.Stdout, run.Stderr, run.WaitDelay = s.env, output, output, 10*time.Second
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-run.Process.Pid, syscall.SIGKILL)
		if t.Failed() {
			t.Logf("tools/run.sh:\n%s", output.Tail(16<<10))
		}
	})
	s.eventually(func() bool { return strings.Contains(output.String(), "Ctrl-C ends everything") },
		"tools/run.sh does not start its programs")
	mail := s.emit(s.name, "RESERVATION_CONFIRMED", "CUSTOMER/42", "{}") + "-customer42-EMAIL"
	s.awaitDelivery(mail, "DELIVERED")
	link := mailed(t, must(sandbox.Client{URL: "http://" + providers}.Accepted(t.Context(), time.Time{}))(t), mail).Unsubscribe
	require.True(t, strings.HasPrefix(link, "http://"+gateway+"/unsubscribe"), link)
	get(t, link)

	require.NoError(t, run.Process.Signal(syscall.SIGTERM)) // like Ctrl-C; SIGINT may be ignored here
	require.NoError(t, run.Wait())
	require.ErrorIs(t, syscall.Kill(-run.Process.Pid, 0), syscall.ESRCH, "a program of tools/run.sh still runs")
}
