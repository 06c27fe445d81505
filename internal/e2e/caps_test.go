package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hundred events at once, two workers and two deaths: no recipient gets more messages than the
// caps allow, and a message that waits is sent when there is room.
func TestCaps(t *testing.T) {
	t.Parallel()

	const offers, customers, atMost = 100, 2, 3
	s := newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100", "EMAIL_MAX_ATTEMPTS=100")...)
	s.starter("migrate", "up")
	for _, block := range runnable(t, "docs/amount.md") {
		s.exec(block)
	}
	s.exec(`INSERT INTO recipient (user_type, user_id, phone, email) SELECT 'CUSTOMER', n::text, '+1202555010' || n, n || '@example.com' FROM generate_series(1, $1::int) n`, customers)
	s.exec(`INSERT INTO event_category (event_type, category) VALUES ('OFFER', 'offers')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory) VALUES ('OFFER', 'SMS', false), ('CODE', 'SMS', true), ('NEWS', 'EMAIL', false)`)
	s.exec(`UPDATE frequency_cap SET spacing = NULL`)
	s.exec(`INSERT INTO frequency_cap (channel_type, at_most, per, action) VALUES ('EMAIL', 2, '4 seconds', 'DEFER')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Hello', 'Hello')`)
	s.starter("poller", "start")
	w := s.startWorker()
	s.startWorker()
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || n, 'OFFER', 'CUSTOMER', (n % $3 + 1)::text, '{}' FROM generate_series(1, $2::int) n`, s.name, offers, customers)
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-news-' || n, 'NEWS', 'CUSTOMER', '1', '{}' FROM generate_series(1, 10) n`, s.name)
	s.awaitSome(offers/10, `SELECT count(*) FROM notification_decision`)
	w.kill()
	w = s.startWorker()
	s.awaitSome(offers/2, `SELECT count(*) FROM notification_decision`)
	w.kill()
	s.startWorker()
	s.awaitCount(offers+10, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)

	sent := s.deliveries(`SELECT delivery_id FROM notification WHERE event_type = 'OFFER' AND status = 'SENT'`)
	require.Len(t, sent, customers*atMost)
	accepted, messages := s.accepted(), 0
	for _, id := range sent {
		require.Positive(t, accepted[id], id)
		messages += accepted[id]
	}
	require.LessOrEqual(t, messages, len(sent)+2, "one more for each kill, at most")
	require.Equal(t, offers-len(sent), s.count(`SELECT count(*) FROM notification_decision d LEFT JOIN notification n USING (event_id)
		WHERE n.last_error = 'CAPPED' AND n.status = 'CANCELLED' OR d.channels = '{"SMS": "CAPPED"}'`), "all others are CAPPED")

	// News waited for room, and every one was sent.
	require.Equal(t, 10, s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEWS' AND status = 'SENT'`))
	require.Zero(t, s.count(`SELECT count(*) FROM counted_message a WHERE a.channel_type = 'EMAIL' AND (SELECT count(*) FROM counted_message b WHERE b.channel_type = 'EMAIL' AND b.at >= a.at AND b.at < a.at + interval '4 seconds') > 2`))

	// What is mandatory is sent, and later offers learn that at planning.
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1 || '-code', 'CODE', 'CUSTOMER', '1', '{}')`, s.name)
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE event_type = 'CODE' AND status = 'SENT'`)
	late := s.name + "-late"
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) VALUES ($1, 'OFFER', 'CUSTOMER', '1', '{}')`, late)
	s.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND channels = '{"SMS": "CAPPED"}'`, late)
	require.Contains(t, s.starter("delivery", "why", "--event", late, "--recipient", "customer/1", "--channel", "sms"), "at most 3 in "+(7*24*time.Hour).String()+" of category offers: there is no room")
	require.Contains(t, s.starter("event", "simulate", "--event", late), "CAPPED")
}
