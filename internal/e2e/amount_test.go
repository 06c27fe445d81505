package e2e_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/workflows"
)

// TestThrottle lets an alarm ring hundreds of times, for four owners and two sensors each, while
// workers are killed. Each owner gets one message about each sensor. Each decision against the other
// messages names it.
func TestThrottle(t *testing.T) {
	t.Parallel()

	const alarms, owners, sensors = 400, 4, 2
	s := newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
	s.customers(owners)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Alarm', 'of sensor {{.payload.sensorId}}')`)
	s.starter("poller", "start")
	w, other := s.startWorker(), s.startWorker()
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || n, 'SENSOR_ALARM', 'CUSTOMER', (n % $3 + 1)::text, jsonb_build_object('sensorId', n / $3 % $4)
	        FROM   generate_series(1, $2::int) n`, s.name, alarms, owners, sensors)
	s.killWhile(w, `SELECT count(*) FROM notification_decision`, alarms/10, alarms/2)
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
	require.Contains(t, s.starter("delivery", "why", "--event", stopped, "--recipient", owner, "--channel", "sms"), "within throttle_window: "+sent[0])
	require.Contains(t, s.starter("why", "--recipient", owner, "-o", "json"), sent[0]+" went before")
	require.Contains(t, s.starter("event", "show", stopped), "THROTTLED")

	before := len(s.messages())
	require.Contains(t, s.starter("event", "simulate", "--event", stopped), "THROTTLED")
	require.Len(t, s.messages(), before, "a simulation sends nothing")
}

// A hundred events at once, two workers and two deaths: no recipient gets more messages than the
// caps allow, and a message that waits is sent when there is room.
func TestCaps(t *testing.T) {
	t.Parallel()

	const offers, customers, atMost = 100, 2, 3
	s := newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100", "EMAIL_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
	s.customers(customers)
	s.exec(`INSERT INTO event_category (event_type, category) VALUES ('OFFER', 'offers')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory) VALUES ('OFFER', 'SMS', false), ('CODE', 'SMS', true), ('NEWS', 'EMAIL', false)`)
	s.exec(`UPDATE frequency_cap SET spacing = NULL`)
	s.exec(`INSERT INTO frequency_cap (channel_type, at_most, per, action) VALUES ('EMAIL', 2, '4 seconds', 'DEFER')`)
	s.exec(`INSERT INTO notification_template (title, body) VALUES ('Hello', 'Hello')`)
	s.starter("poller", "start")
	w := s.startWorker()
	s.startWorker()
	s.burst("", "OFFER", offers)
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-news-' || n, 'NEWS', 'CUSTOMER', '1', '{}' FROM generate_series(1, 10) n`, s.name)
	s.killWhile(w, `SELECT count(*) FROM notification_decision`, offers/10, offers/2)
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

// Comments come for three customers while workers are killed. The first of each customer is sent
// alone and at once, all others in digests. Reviews wait for a time of day on the clock of each
// customer.
func TestDigestTimes(t *testing.T) {
	t.Parallel()

	const comments, reviews, customers = 90, 30, 3
	s := newSystem(t, append(crashTimeouts, "EMAIL_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
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
	s.killWhile(w, `SELECT count(*) FROM notification`, 20, 70)
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

// Promotions for too many people wait for approval, while workers are killed. Two people answer at
// once: one wins, and the other learns it. The emitter cannot approve. A small promotion does not
// wait, and a rejected one tells nobody.
func TestApproval(t *testing.T) {
	t.Parallel()

	const people = 6
	s := newSystem(t, append(crashTimeouts, "EMAIL_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
	s.exec(`UPDATE event_type_approval SET over = 5`)
	s.customers(people)
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

// TestExpiry lets every provider be down until half of the events have expired: single messages, a
// batch, a digest, and a message that would be followed by another. Two workers are killed
// meanwhile. Then everything reaches everybody that has not expired, and nothing else.
func TestExpiry(t *testing.T) {
	t.Parallel()

	const customers = 12
	s := newSystem(t, append(crashTimeouts, inBatches, "EMAIL_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100",
		"EMAIL_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1")...)
	s.customers(customers)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, on_escalation_only, expires_after)
	        VALUES ('CODE', 'SMS', 'IMMEDIATE', '5 minutes', false, NULL), ('CODE', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', false, NULL),
	               ('NEWS', 'EMAIL', 'IMMEDIATE', '5 minutes', false, NULL),
	               ('REVIEW', 'EMAIL', 'AGGREGATE', '1 second', false, NULL),
	               ('OFFER', 'PUSH', 'IMMEDIATE', '5 minutes', false, '1 hour'), ('OFFER', 'SMS', 'IMMEDIATE', '5 minutes', true, '1 hour')`)
	s.configure("docs/amount.md")
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
