package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExample plays the example's events. The command compares every decision,
// row and ledger line with what the rules say, and fails on any that differs;
// with a rule changed behind its back, it must.
func TestExample(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.starter("migrate", "up")
	s.starter("seed", "--slack-url", s.sandbox.URL)
	s.startWorker()
	s.starter("poller", "start")

	t.Log(s.starter("demo", "--sandbox-url", s.sandbox.URL))
	require.Less(t, s.count(`SELECT count(DISTINCT digest_id) FROM notification`), s.count(`SELECT count(*) FROM notification WHERE digest_id IS NOT NULL`),
		"no review shared a mail with another")

	s.exec(`DELETE FROM event_type_channel_routing WHERE event_type = 'SYSTEM_ALERT' AND channel_type = 'EMAIL'`)
	out, err := s.tryStarter("demo", "--sandbox-url", s.sandbox.URL)
	require.Error(t, err)
	require.Contains(t, out, "ADMIN/1")
}
