package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/workflows"
)

// Promotions for too many people wait for approval, while workers are killed. Two people answer at
// once: one wins, and the other learns it. The emitter cannot approve. A small promotion does not
// wait, and a rejected one tells nobody.
func TestApproval(t *testing.T) {
	t.Parallel()

	const people = 6
	s := newSystem(t, append(crashTimeouts, "EMAIL_MAX_ATTEMPTS=100")...)
	s.starter("migrate", "up")
	for _, block := range runnable(t, "docs/amount.md") {
		s.exec(block)
	}
	s.exec(`UPDATE event_type_approval SET over = 5`)
	s.exec(`INSERT INTO recipient (user_type, user_id, email) SELECT 'CUSTOMER', n::text, n || '@example.com' FROM generate_series(1, $1::int) n`, people)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('PROMOTION', 'EMAIL')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Sale', 'Half price')`)
	s.starter("poller", "start")
	w := s.startWorker()
	as := func(actor string, args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(binaries, "starter"), args...)
		cmd.Env = append(slices.Clone(s.env), "HERALD_ACTOR="+actor)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	id := func(n int) string { return fmt.Sprint(s.name, "-", n) }
	for n := range 4 {
		s.starter("emit", "--type", "PROMOTION", "--aggregate-type", "BROADCAST", "--aggregate-id", "0", "--event-id", id(n), "--payload", "{}")
	}
	s.starter("emit", "--type", "PROMOTION", "--aggregate-type", "CUSTOMER", "--aggregate-id", "1", "--event-id", s.name+"-small", "--payload", "{}")
	s.awaitCount(4, `SELECT count(*) FROM processed_event WHERE outcome = 'AWAITING_APPROVAL' AND status = 'PROCESSING'`)
	s.awaitSuccess(s.name + "-small")
	w.kill()

	// Without a worker, the answers wait in Temporal.
	shown := s.starter("event", "show", id(0))
	for _, text := range []string{"AWAITING_APPROVAL", "6 SELECTED", "Half price", "starter event approve"} {
		require.Contains(t, shown, text)
	}
	require.Contains(t, s.starter("event", "list", "--outcome", "AWAITING_APPROVAL"), id(3))
	out, err := s.tryStarter("event", "approve", id(0))
	require.Error(t, err)
	require.Contains(t, out, "somebody else has to approve it")
	require.NoError(t, s.temporal.SignalWorkflow(t.Context(), id(3), "", workflows.Approve, "yes"))
	w = s.startWorker()

	answers := make([]string, 2)
	var group errgroup.Group
	for i, order := range [][]string{{"approve", "ada"}, {"reject", "bob"}} {
		group.Go(func() error {
			answers[i], _ = as(order[1], "event", order[0], id(0), "--reason", "seen")
			return nil
		})
	}
	require.NoError(t, group.Wait())
	approved := s.count(`SELECT count(*) FROM event_approval WHERE event_id = $1 AND answer = 'APPROVED' AND answered_by = 'ada'`, id(0)) == 1
	loser := map[bool]string{true: answers[1], false: answers[0]}[approved]
	require.Contains(t, loser, map[bool]string{true: "APPROVED by ada", false: "REJECTED by bob"}[approved])

	out, err = as("ada", "event", "approve", id(1), "--reason", "seen")
	require.NoError(t, err, out)
	s.awaitSome(1, `SELECT count(*) FROM notification WHERE event_id LIKE '%-1'`)
	w.kill()
	s.startWorker()
	out, err = as("bob", "event", "reject", id(2), "--reason", "wrong price")
	require.NoError(t, err, out)
	require.NoError(t, s.temporal.SignalWorkflow(t.Context(), id(3), "", workflows.Approve, map[string]any{"approved": true, "by": "carla"})) // as the Web UI does

	told := 2
	if approved {
		told++
	}
	s.awaitCount(told*people+1, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	s.awaitCount(4-told, `SELECT count(*) FROM processed_event WHERE outcome = 'REJECTED' AND status = 'FAILED'`)
	require.Contains(t, s.starter("event", "show", id(2)), "REJECTED by bob")
	s.awaitSuccess(id(1), id(3))
	out, _ = s.tryStarter("event", "retry", id(2))
	require.Contains(t, out, "was rejected")
	sent := 0
	for delivery, times := range s.accepted() {
		sent += times
		require.False(t, strings.HasPrefix(delivery, id(2)), delivery)
	}
	require.LessOrEqual(t, sent, told*people+1+2, "one more for each kill, at most")
}
