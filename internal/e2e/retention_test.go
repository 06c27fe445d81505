package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Purge deletes events that have ended, and keeps an event that still waits.
func TestPurge(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	w := s.startAll()
	s.writeEvents("old", 3)
	s.waitForLoad(3)
	s.exec(`UPDATE event_type_channel_routing SET delivery_strategy = 'DELAYED', delay = '1 hour' WHERE channel_type = 'SMS'`)
	s.writeEvents("waiting", 1)
	s.eventually(func() bool {
		return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) == 11 &&
			s.count(`SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`) == 3
	}, "the events did not come to where they should")
	for _, table := range []string{"event_outbox", "processed_event", "notification"} {
		s.exec(`UPDATE ` + table + ` SET created_at = created_at - interval '40 days'`)
	}
	s.exec(`UPDATE notification_decision SET decided_at = decided_at - interval '40 days'`)

	require.Regexp(t, `(?m)^notification +30d .+ 9 +-$`, s.starter("purge", "--older-than", "30d", "--dry-run"))
	require.Equal(t, 12, s.count(`SELECT count(*) FROM notification`))
	s.fails(2, "name an age", "purge")
	require.Regexp(t, `(?m)^notification +30d .+ 9 +9$`, s.starter("purge", "--older-than", "30d", "--yes"))

	for table, want := range map[string]int{
		"event_outbox": 1, "processed_event": 1, "notification": 3, "notification_decision": 1, "delivery_attempt": 2,
	} {
		require.Equal(t, want, s.count(`SELECT count(*) FROM `+table), table)
	}
	s.fails(1, "event "+s.eventID("old", 0)+": ", "event", "show", s.eventID("old", 0))
	require.Contains(t, s.starter("event", "show", s.eventID("waiting", 0)), "PENDING")
	require.NoError(t, w.stop())
}
