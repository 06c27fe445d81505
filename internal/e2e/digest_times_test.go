package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Comments come for three customers while workers are killed. The first of each customer is sent
// alone and at once, all others in digests. Reviews wait for a time of day on the clock of each
// customer.
func TestDigestTimes(t *testing.T) {
	t.Parallel()

	const comments, reviews, customers = 90, 30, 3
	s := newSystem(t, append(crashTimeouts, "EMAIL_MAX_ATTEMPTS=100")...)
	s.starter("migrate", "up")
	for _, block := range runnable(t, "docs/amount.md") {
		s.exec(block)
	}
	// It is soon the time of reviews for customer 1, at +14 hours. For customer 2, at -12 hours, it
	// is the time two hours later. Customer 3 wants them soon.
	s.exec(`UPDATE event_type_channel_routing SET digest_window = '1 hour' WHERE event_type = 'NEW_COMMENT'`)
	s.exec(`UPDATE event_type_channel_routing SET digest_days = NULL, digest_at = (now() AT TIME ZONE 'Pacific/Kiritimati' + interval '90 seconds')::time WHERE event_type = 'NEW_REVIEW'`)
	s.exec(`INSERT INTO recipient (user_type, user_id, email, timezone)
	        SELECT 'CUSTOMER', n::text, n || '@example.com', (ARRAY['Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Kathmandu'])[n] FROM generate_series(1, $1::int) n`, customers)
	s.exec(`INSERT INTO user_settings (user_type, user_id, digest_at) VALUES ('CUSTOMER', '3', (now() AT TIME ZONE 'Asia/Kathmandu' + interval '90 seconds')::time)`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('News', 'Hello')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('NEW_REVIEW.digest', 'Your reviews', '{{len .Items}} reviews')`)
	s.starter("poller", "start")
	w := s.startWorker()
	s.startWorker()
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || type || n, type, 'CUSTOMER', (n % $4 + 1)::text, '{}'
	        FROM  (VALUES ('NEW_COMMENT', $2::int), ('NEW_REVIEW', $3::int)) AS t (type, many), generate_series(1, many) n`, s.name, comments, reviews, customers)
	s.awaitSome(20, `SELECT count(*) FROM notification`)
	w.kill()
	w = s.startWorker()
	s.awaitSome(70, `SELECT count(*) FROM notification`)
	w.kill()
	s.startWorker()
	s.awaitCount(comments+reviews, `SELECT count(*) FROM notification`)

	// Comments: one of each customer is sent alone.
	s.awaitCount(customers, `SELECT count(*) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'SENT' AND digest_id IS NULL AND strategy = 'IMMEDIATE'`)
	require.Equal(t, customers, s.count(`SELECT count(DISTINCT user_id) FROM notification WHERE event_type = 'NEW_COMMENT' AND strategy = 'IMMEDIATE'`))
	waits := s.deliveries(`SELECT min(delivery_id) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'PENDING' GROUP BY user_id`)
	require.Len(t, waits, customers)
	for _, id := range waits {
		s.eventually(func() bool { _, err := s.tryStarter("delivery", "send-now", id); return err == nil }, "%s never waits", id)
	}
	s.awaitCount(comments, `SELECT count(*) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'SENT'`)

	// Reviews: customers 1 and 3 get them in one message, which does not come before its time.
	soon := reviews / customers * 2
	s.awaitCount(soon, `SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND status = 'SENT'`)
	require.Equal(t, soon, s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND user_id IN ('1', '3') AND sent_at >= send_after`))
	require.Equal(t, 2, s.count(`SELECT count(DISTINCT digest_id) FROM notification WHERE event_type = 'NEW_REVIEW' AND status = 'SENT'`))
	require.Equal(t, reviews/customers, s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND user_id = '2' AND status = 'PENDING' AND send_after BETWEEN now() + interval '1 hour 50 minutes' AND now() + interval '2 hours'`))

	titles := map[string]int{}
	for _, m := range s.messages() {
		titles[m.Title]++
	}
	require.GreaterOrEqual(t, titles["Your reviews"], 2)
	require.LessOrEqual(t, len(s.messages()), 3*customers-1+2, "one more for each kill, at most")
}
