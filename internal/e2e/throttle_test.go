package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestThrottle lets an alarm ring a thousand times, for four owners and two sensors each, while
// workers are killed. Each owner gets one message about each sensor. Each decision against the other
// messages names it.
func TestThrottle(t *testing.T) {
	t.Parallel()

	const alarms, owners, sensors = 1000, 4, 2
	s := newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100")...)
	s.starter("migrate", "up")
	for _, block := range runnable(t, "docs/amount.md") {
		s.exec(block)
	}
	s.exec(`INSERT INTO recipient (user_type, user_id, phone) SELECT 'CUSTOMER', n::text, '+120255501' || lpad(n::text, 2, '0') FROM generate_series(1, $1::int) n`, owners)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Alarm', 'of sensor {{.payload.sensorId}}')`)
	s.starter("poller", "start")
	w, other := s.startWorker(), s.startWorker()
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || n, 'SENSOR_ALARM', 'CUSTOMER', (n % $3 + 1)::text, jsonb_build_object('sensorId', n / $3 % $4)
	        FROM   generate_series(1, $2::int) n`, s.name, alarms, owners, sensors)
	s.awaitSome(alarms/10, `SELECT count(*) FROM notification_decision`)
	w.kill()
	w = s.startWorker()
	s.awaitSome(alarms/2, `SELECT count(*) FROM notification_decision`)
	w.kill()
	s.startWorker()
	s.awaitCount(alarms, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	require.NoError(t, other.stop(), "%s", other.output)

	sent := s.deliveries(`SELECT delivery_id FROM notification`)
	require.Len(t, sent, owners*sensors)
	accepted := s.accepted()
	require.Len(t, accepted, owners*sensors)
	for _, id := range sent {
		require.Positive(t, accepted[id], id)
		require.LessOrEqual(t, accepted[id], 3, "one more for each kill, at most")
		require.Equal(t, alarms/owners/sensors-1, s.count(`SELECT count(*) FROM notification_decision WHERE throttled_by ->> 'SMS' = $1`, id))
	}
	require.Equal(t, alarms-owners*sensors, s.count(`SELECT count(*) FROM notification_decision WHERE channels = '{"SMS": "THROTTLED"}'`))

	stopped := s.deliveries(`SELECT event_id FROM notification_decision WHERE throttled_by ->> 'SMS' = '` + sent[0] + `' LIMIT 1`)[0]
	owner := fmt.Sprint("customer/", s.count(`SELECT user_id::int FROM notification WHERE delivery_id = $1`, sent[0]))
	require.Contains(t, s.starter("delivery", "why", "--event", stopped, "--recipient", owner, "--channel", "sms"), "throttle_window before: "+sent[0])
	require.Contains(t, s.starter("why", "--recipient", owner, "-o", "json"), sent[0]+" went before")
	require.Contains(t, s.starter("event", "show", stopped), "THROTTLED")

	before := len(s.messages())
	require.Contains(t, s.starter("event", "simulate", "--event", stopped), "THROTTLED")
	require.Len(t, s.messages(), before, "a simulation sends nothing")
}
