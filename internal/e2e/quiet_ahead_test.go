package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDelayEndsInQuietHours has deliveries whose delay ends in quiet hours, and asks what
// is said of that before and after.
func TestDelayEndsInQuietHours(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(`INSERT INTO recipient (user_type, user_id, email, timezone) VALUES ('CUSTOMER', '42', 'ada@example.com', 'UTC')`)
	s.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
	        VALUES ('CUSTOMER', '42', 'EMAIL', true, (now() AT TIME ZONE 'UTC' + interval '1 hour')::time(0), (now() AT TIME ZONE 'UTC' + interval '5 hours')::time(0))`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, quiet_hours_action)
	        VALUES ('DROPPED', 'EMAIL', 'DELAYED', '2 hours', 'DROP'), ('DEFERRED', 'EMAIL', 'DELAYED', '2 hours', 'DEFER')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('*', 'hello', 'you')`)
	s.startWorker()
	s.starter("poller", "start")
	var end string
	require.NoError(t, s.store.Pool.QueryRow(t.Context(), `SELECT to_char(quiet_hours_end, 'HH24:MI "UTC"') FROM user_notification_preferences`).Scan(&end))
	then := map[string]string{"DROPPED": "it is dropped then", "DEFERRED": "it waits until then"}
	ids := map[string]string{}
	for eventType := range then {
		ids[eventType] = s.emit(s.name+"-"+eventType, eventType, "CUSTOMER/42", "{}") + "-customer42-EMAIL"
	}
	says := func(id string, facts ...string) {
		for _, verb := range []string{"show", "why"} {
			var said string
			s.eventually(func() bool {
				said, _ = s.tryStarter("delivery", verb, id) // there may be no row yet
				for _, fact := range facts {
					if !strings.Contains(said, fact) {
						return false
					}
				}
				return true
			}, "delivery %s %s does not say %q", verb, id, facts)
		}
	}
	for eventType, id := range ids {
		says(id, "waiting until ", " UTC: delay; that is in quiet hours until ", end, then[eventType]) // also the workflow's own details
		require.Contains(t, s.starter("delivery", "reschedule", id, "--in", "3h"), then[eventType])
		says(id, "rescheduled by an operator", "that is in quiet hours until ", end, then[eventType])
	}

	s.exec(`UPDATE user_notification_preferences SET quiet_hours_start = (now() AT TIME ZONE 'UTC' - interval '1 hour')::time(0)`)
	for _, id := range ids {
		s.starter("delivery", "reschedule", id, "--in", "1s")
	}
	s.awaitDelivery(ids["DROPPED"], "CANCELLED")
	require.Contains(t, s.starter("delivery", "why", ids["DROPPED"]), "when it was due it was quiet hours")
	says(ids["DEFERRED"], ": quiet hours")
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND send_after > now() + interval '4 hours'`, ids["DEFERRED"])
}
