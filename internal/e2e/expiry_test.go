package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestExpiry lets every provider be down until half of the events have expired: single messages, a
// batch, a digest, and a message that would be followed by another. Two workers are killed
// meanwhile. Then everything reaches everybody that has not expired, and nothing else.
func TestExpiry(t *testing.T) {
	t.Parallel()

	const customers = 12
	s := newSystem(t, append(crashTimeouts, inBatches, "EMAIL_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100",
		"EMAIL_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1")...)
	s.starter("migrate", "up")
	s.exec(`INSERT INTO recipient (user_type, user_id, email, phone) SELECT 'CUSTOMER', n::text, n || '@example.com', '+120255501' || lpad(n::text, 2, '0') FROM generate_series(1, $1::int) n`, customers)
	s.exec(`INSERT INTO recipient_device (user_type, user_id, token) SELECT user_type, user_id, 'phone-' || user_id FROM recipient`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, on_escalation_only, expires_after)
	        VALUES ('CODE', 'SMS', 'IMMEDIATE', '5 minutes', false, NULL), ('CODE', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', false, NULL),
	               ('NEWS', 'EMAIL', 'IMMEDIATE', '5 minutes', false, NULL),
	               ('REVIEW', 'EMAIL', 'AGGREGATE', '1 second', false, NULL),
	               ('OFFER', 'PUSH', 'IMMEDIATE', '5 minutes', false, '1 hour'), ('OFFER', 'SMS', 'IMMEDIATE', '5 minutes', true, '1 hour')`)
	for _, block := range runnable(t, "docs/amount.md") {
		s.exec(block)
	}
	s.exec(`INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES ('OFFER', 'PUSH', 'SMS', '15 seconds', 'READ')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'of today')`)
	for _, channel := range []string{"EMAIL", "PUSH", "SMS"} {
		s.fault(channel, `{"status":503}`)
	}
	s.starter("poller", "start")
	w := s.startWorker()
	write := func(limit string, flags ...string) (events []string) {
		for eventType, aggregate := range map[string]string{"CODE": "CUSTOMER/1", "NEWS": "BROADCAST/0", "REVIEW": "CUSTOMER/2", "OFFER": "CUSTOMER/3"} {
			events = append(events, s.emit(s.name+"-"+limit+"-"+eventType, eventType, aggregate, "{}", flags...))
		}
		return events
	}
	late := write("short", "--expires-in", "6s")
	past := s.emit(s.name+"-past", "CODE", "CUSTOMER/4", "{}", "--expires-in", "1ns")
	ahead := append(write("none"), write("ahead", "--expires-in", "1h")...)

	s.awaitSome(10, `SELECT count(*) FROM delivery_attempt`)
	w.kill()
	w = s.startWorker()
	s.awaitCount(0, `SELECT count(*) FROM event_outbox WHERE event_id LIKE '%-short-%' AND expires_at > now()`)
	w.kill()
	s.mend()
	s.startWorker()
	s.awaitSuccess(append(append(ahead, late...), past)...)

	sent := s.accepted()
	require.Zero(t, s.count(`
		SELECT count(*)
		FROM   notification
		WHERE  event_id LIKE '%-short-%'
		AND    channel <> 'WEBSOCKET'
		AND    NOT (status = 'CANCELLED' AND last_error = 'EXPIRED')`), "all others expired")
	require.Equal(t, customers+3, s.count(`SELECT count(*) FROM notification WHERE channel <> 'WEBSOCKET' AND last_error = 'EXPIRED'`))
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE event_id LIKE '%-short-%' AND escalated_from IS NOT NULL`), "an expired delivery does not escalate")
	for _, id := range s.deliveries(`SELECT DISTINCT coalesce(digest_id, delivery_id) FROM notification WHERE channel <> 'WEBSOCKET' AND event_id NOT LIKE '%-short-%'`) {
		require.Positive(t, sent[id], id)
		delete(sent, id)
	}
	require.Empty(t, sent, "nothing else was sent")
	require.Empty(t, s.take("notification.dead-letter"))

	code := s.name + "-short-CODE-customer1-SMS"
	why := s.starter("delivery", "why", code)
	require.Contains(t, why, "it had expired")
	require.Contains(t, why, "`starter delivery retry "+code+" --again`")
	require.Regexp(t, `SMS +EXPIRED`, s.starter("event", "show", past))
	s.fails(1, "has expired", "delivery", "retry", code)
	s.starter("delivery", "retry", code, "--again")
	s.awaitDelivery(code, "SENT")
	require.Equal(t, 1, s.accepted()[code])
}
