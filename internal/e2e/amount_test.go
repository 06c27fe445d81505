package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/workflows"
)

// Alarms, offers and news arrive together. Two workers run, and two are killed. Each owner gets one
// alarm about each sensor, and each throttled alarm's decision names that alarm. Nobody gets more offers
// than the cap allows. News waits until the cap has room.
func TestThrottlesAndCaps(t *testing.T) {
	t.Parallel()

	const alarms, owners, sensors, offers, atMost, news = 120, 4, 2, 40, 3, 10
	s := newSystem(t, append(crashTimeouts, "SMS_MAX_ATTEMPTS=100", "EMAIL_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
	s.customers(owners)
	s.fill(
		postgrestest.Category{EventType: "OFFER"}, postgrestest.Route{EventType: "OFFER", Channel: notification.SMS},
		postgrestest.Route{EventType: "CODE", Channel: notification.SMS, Mandatory: true}, postgrestest.Route{EventType: "NEWS"})
	s.exec(`UPDATE frequency_cap SET spacing = NULL`)
	s.fill(postgrestest.Cap{AtMost: 2, Per: 4 * time.Second, Action: notification.Defer}, postgrestest.Template{Title: "Hello", Body: "Hello"})
	w, other := s.startAll(loadWorker...), s.startWorker(loadWorker...)
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-alarm-' || n, 'SENSOR_ALARM', 'CUSTOMER', (n % $3 + 1)::text, jsonb_build_object('sensorId', n / $3 % $4)
	        FROM   generate_series(1, $2::int) n`, s.name, alarms, owners, sensors)
	s.burst("-offer", "OFFER", offers)
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-news-' || n, 'NEWS', 'CUSTOMER', '1', '{}' FROM generate_series(1, $2::int) n`, s.name, news)
	s.killWhile(w, `SELECT count(*) FROM notification_decision`, (alarms+offers)/10, (alarms+offers)/2)
	s.awaitCount(alarms+offers+news, `SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'`)
	require.NoError(t, other.stop(), "%s", other.output)

	rang := s.deliveries(`SELECT delivery_id FROM notification WHERE event_type = 'SENSOR_ALARM'`)
	offered := s.deliveries(`SELECT delivery_id FROM notification WHERE event_type = 'OFFER' AND status = 'SENT'`)
	require.Len(t, rang, owners*sensors)
	require.Len(t, offered, owners*atMost)
	s.requireSent(append(rang, offered...), news)
	for _, id := range rang {
		require.Equal(t, alarms/owners/sensors-1, s.count(`SELECT count(*) FROM notification_decision WHERE throttled_by ->> 'SMS' = $1`, id))
	}
	require.Equal(t, alarms-len(rang), s.count(`SELECT count(*) FROM notification_decision WHERE channels = '{"SMS": "THROTTLED"}'`))
	require.Equal(t, offers-len(offered), s.count(`SELECT count(*) FROM notification_decision d LEFT JOIN notification n USING (event_id)
		WHERE n.last_error = 'CAPPED' AND n.status = 'CANCELLED' OR d.channels = '{"SMS": "CAPPED"}'`), "all others are CAPPED")
	require.Equal(t, news, s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEWS' AND status = 'SENT'`))
	require.Zero(t, s.count(`SELECT count(*) FROM counted_message a WHERE a.channel_type = 'EMAIL' AND (SELECT count(*) `+
		`FROM counted_message b WHERE b.channel_type = 'EMAIL' AND b.at >= a.at AND b.at < a.at + interval '4 seconds') > 2`))
	s.explainsThrottle(rang[0])
	s.explainsCap()
}

// requireSent requires that each delivery and a number of others were sent. Each repeat follows an
// attempt whose result Herald does not know.
func (s *system) requireSent(deliveries []string, others int) {
	s.t.Helper()
	accepted := s.accepted()
	require.Len(s.t, accepted, len(deliveries)+others)
	for _, id := range deliveries {
		require.Positive(s.t, accepted[id], id)
	}
	unknown := s.count(`SELECT count(*) FROM delivery_attempt WHERE outcome IN ('LOST', 'AMBIGUOUS')`)
	require.LessOrEqual(s.t, len(s.messages()), len(accepted)+unknown)
}

// explainsThrottle requires that `starter` names the delivery that throttled an event, and that a
// simulation says the same and sends nothing.
func (s *system) explainsThrottle(sent string) {
	stopped := s.deliveries(`SELECT event_id FROM notification_decision WHERE throttled_by ->> 'SMS' = '` + sent + `' LIMIT 1`)[0]
	owner := fmt.Sprint("customer/", s.count(`SELECT user_id::int FROM notification WHERE delivery_id = $1`, sent))
	require.Contains(s.t, s.starter("delivery", "why", "--event", stopped, "--recipient", owner, "--channel", "sms"),
		"within throttle_window: "+sent)
	require.Contains(s.t, s.starter("why", "--recipient", owner, "-o", "json"), sent+" went before")
	require.Contains(s.t, s.starter("event", "show", stopped), "THROTTLED")

	before := len(s.messages())
	require.Contains(s.t, s.starter("event", "simulate", "--event", stopped), "THROTTLED")
	require.Len(s.t, s.messages(), before, "a simulation sends nothing")
}

// explainsCap requires that mandatory messages are sent, and that the cap stops a later offer at
// planning.
func (s *system) explainsCap() {
	s.t.Helper()
	s.burst("-code", "CODE", 1)
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE event_type = 'CODE' AND status = 'SENT'`)
	late := s.name + "-late"
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload) `+
		`VALUES ($1, 'OFFER', 'CUSTOMER', '1', '{}')`, late)
	s.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND channels = '{"SMS": "CAPPED"}'`, late)
	require.Contains(s.t, s.starter("delivery", "why", "--event", late, "--recipient", "customer/1", "--channel", "sms"),
		"at most 3 in "+(7*24*time.Hour).String()+" of category offers: there is no room")
	require.Contains(s.t, s.starter("event", "simulate", "--event", late), "CAPPED")
}

// Workers are killed while comments and reviews collect in digests and promotions wait for approval.
func TestDigestTimesAndApproval(t *testing.T) {
	t.Parallel()

	s := newSystem(t, append(crashTimeouts, "EMAIL_MAX_ATTEMPTS=100")...)
	s.configure("docs/amount.md")
	s.customers(promoted)
	s.fill(postgrestest.Template{Title: "News", Body: "Hello"})
	w, other := s.startAll(mailWorker...), s.startWorker(mailWorker...)
	w = s.writesComments(w)
	require.NoError(t, other.stop(), "%s", other.output)
	approved := s.approves(w)
	s.reviewsCome()
	s.requireSent(nil, 3*digested-1+approved*promoted+1)
}

const (
	comments, reviews = 36, 12
	digested          = 3 // customers with comments and reviews
	promoted          = 6 // customers
)

// writesComments writes comments and reviews for three customers while the worker is killed twice. The
// first comment of each customer is sent at once and alone, all other comments in digests.
func (s *system) writesComments(w *worker) *worker {
	// Reviews go out in digests at a time of day. For customer 1, at UTC+14, that time comes in 90
	// seconds. For customer 2, at UTC-12, it comes two hours later. Customer 3 chose a time that comes
	// in 90 seconds.
	s.exec(`UPDATE event_type_channel_routing SET digest_window = '1 hour' WHERE event_type = 'NEW_COMMENT'`)
	s.exec(`UPDATE event_type_channel_routing SET digest_days = NULL, digest_at = (now() AT TIME ZONE 'Pacific/Kiritimati' + interval ` +
		`'90 seconds')::time WHERE event_type = 'NEW_REVIEW'`)
	s.exec(`UPDATE recipient SET timezone = (ARRAY['Pacific/Kiritimati', 'Etc/GMT+12', 'Asia/Kathmandu'])[user_id::int] `+
		`WHERE user_id::int <= $1`, digested)
	s.fillMany(1, postgrestest.UserSettings{UserType: notification.Customer, UserID: "3"},
		postgrestest.Expressions{"digest_at": "(now() AT TIME ZONE 'Asia/Kathmandu' + interval '90 seconds')::time"})
	s.fill(postgrestest.Template{EventType: "NEW_REVIEW.digest", Title: "Your reviews", Body: "{{len .Items}} reviews"})
	s.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
	        SELECT $1 || '-' || type || n, type, 'CUSTOMER', (n % $4 + 1)::text, '{}'
	        FROM  (VALUES ('NEW_COMMENT', $2::int), ('NEW_REVIEW', $3::int)) AS t (type, many), generate_series(1, many) n`,
		s.name, comments, reviews, digested)
	w = s.killWhile(w, `SELECT count(*) FROM notification`, 8, 28)
	s.awaitCount(comments+reviews, `SELECT count(*) FROM notification`)

	s.awaitCount(digested,
		`SELECT count(*) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'SENT' AND digest_id IS NULL AND strategy = 'IMMEDIATE'`)
	require.Equal(s.t, digested,
		s.count(`SELECT count(DISTINCT user_id) FROM notification WHERE event_type = 'NEW_COMMENT' AND strategy = 'IMMEDIATE'`))
	waits := s.deliveries(`SELECT min(delivery_id) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'PENDING' GROUP BY user_id`)
	require.Len(s.t, waits, digested)
	for _, id := range waits {
		s.orders("send-now", id)
	}
	s.awaitCount(comments, `SELECT count(*) FROM notification WHERE event_type = 'NEW_COMMENT' AND status = 'SENT'`)
	return w
}

// reviewsCome waits until customers 1 and 3 got their reviews, each in one message and not before its
// time.
func (s *system) reviewsCome() {
	soon := reviews / digested * 2
	s.awaitCount(soon, `SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND status = 'SENT'`)
	require.Equal(s.t, soon,
		s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND user_id IN ('1', '3') AND sent_at >= send_after`))
	require.Equal(s.t, 2, s.count(`SELECT count(DISTINCT digest_id) FROM notification WHERE event_type = 'NEW_REVIEW' AND status = 'SENT'`))
	require.Equal(s.t, reviews/digested,
		s.count(`SELECT count(*) FROM notification WHERE event_type = 'NEW_REVIEW' AND user_id = '2' AND status = 'PENDING' `+
			`AND send_after BETWEEN now() + interval '1 hour 50 minutes' AND now() + interval '2 hours'`))

	titles := map[string]int{}
	for _, m := range s.messages() {
		titles[m.Title]++
	}
	require.GreaterOrEqual(s.t, titles["Your reviews"], 2)
}

// approves emits promotions for too many people, which wait for approval while workers are killed. Two
// people answer at once: the first answer counts, and the second person sees it. The emitter cannot
// approve. A small promotion does not wait, and a rejected promotion is sent to nobody. approves returns
// the number of approved promotions.
func (s *system) approves(w *worker) (approved int) {
	s.exec(`UPDATE event_type_approval SET over = 5`)
	s.fill(postgrestest.Route{EventType: "PROMOTION"}, postgrestest.Template{EventType: "PROMOTION", Title: "Sale", Body: "Half price"})
	id := func(n int) string { return fmt.Sprint(s.name, "-", n) }
	for n := range 4 {
		s.emit(id(n), "PROMOTION", "BROADCAST/0", "{}")
	}
	s.emit(s.name+"-small", "PROMOTION", "CUSTOMER/1", "{}")
	s.awaitCount(4, `SELECT count(*) FROM processed_event WHERE outcome = 'AWAITING_APPROVAL' AND status = 'PROCESSING'`)
	s.awaitSuccess(s.name + "-small")
	w.kill()

	// Without a worker, the answers wait in Temporal.
	shown := s.starter("event", "show", id(0))
	for _, text := range []string{"AWAITING_APPROVAL", "6 SELECTED", "Half price", "starter event approve"} {
		require.Contains(s.t, shown, text)
	}
	require.Contains(s.t, s.starter("event", "list", "--outcome", "AWAITING_APPROVAL"), id(3))
	out, err := s.tryStarter("event", "approve", id(0))
	require.Error(s.t, err)
	require.Contains(s.t, out, "somebody else has to approve it")
	require.NoError(s.t, s.temporal.SignalWorkflow(s.t.Context(), id(3), "", workflows.Approve, "yes"))
	w = s.startWorker(mailWorker...)

	adaWins := s.answerAtOnce(id(0))
	out, err = s.with("HERALD_ACTOR=ada").tryStarter("event", "approve", id(1), "--reason", "seen")
	require.NoError(s.t, err, out)
	s.awaitSome(1, `SELECT count(*) FROM notification WHERE event_id LIKE '%-1'`)
	w.kill()
	s.startWorker(mailWorker...)
	out, err = s.with("HERALD_ACTOR=bob").tryStarter("event", "reject", id(2), "--reason", "wrong price")
	require.NoError(s.t, err, out)
	require.NoError(s.t, s.temporal.SignalWorkflow(s.t.Context(), id(3), "", workflows.Approve,
		map[string]any{"approved": true, "by": "carla"})) // as the Web UI does

	approved = 2
	if adaWins {
		approved++
	}
	s.awaitCount(approved*promoted+1, `SELECT count(*) FROM notification WHERE event_type = 'PROMOTION' AND status = 'SENT'`)
	s.awaitCount(4-approved, `SELECT count(*) FROM processed_event WHERE outcome = 'REJECTED' AND status = 'FAILED'`)
	require.Contains(s.t, s.starter("event", "show", id(2)), "REJECTED by bob")
	s.awaitSuccess(id(1), id(3))
	out, _ = s.tryStarter("event", "retry", id(2))
	require.Contains(s.t, out, "was rejected")
	for delivery := range s.accepted() {
		require.False(s.t, strings.HasPrefix(delivery, id(2)+"-"), delivery)
	}
	return approved
}

// answerAtOnce lets Ada approve and Bob reject an event at the same time. It reports whether Ada's
// answer counted, and requires that the other person sees it.
func (s *system) answerAtOnce(event string) (adaWins bool) {
	answers := make([]string, 2)
	var group errgroup.Group
	for i, order := range [][]string{{"approve", "ada"}, {"reject", "bob"}} {
		group.Go(func() error {
			answers[i], _ = s.with("HERALD_ACTOR="+order[1]).tryStarter("event", order[0], event, "--reason", "seen")
			return nil
		})
	}
	require.NoError(s.t, group.Wait())
	adaWins = s.count(`SELECT count(*) FROM event_approval WHERE event_id = $1 AND answer = 'APPROVED' AND answered_by = 'ada'`, event) == 1
	loser := map[bool]string{true: answers[1], false: answers[0]}[adaWins]
	require.Contains(s.t, loser, map[bool]string{true: "APPROVED by ada", false: "REJECTED by bob"}[adaWins])
	return adaWins
}

// Every provider is down until half of the events have expired: single messages, a batch, a digest,
// and a message with an escalation. Two workers are killed meanwhile. Then Herald sends each message
// that has not expired, and no other message.
func TestExpiry(t *testing.T) {
	t.Parallel()

	const customers = 12
	s := newSystem(t, append(crashTimeouts, inBatches, "EMAIL_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100",
		"EMAIL_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1")...)
	s.customers(customers)
	s.fill(
		postgrestest.Route{EventType: "CODE", Channel: notification.SMS},
		postgrestest.Route{EventType: "CODE", Channel: notification.WebSocket}, postgrestest.Route{EventType: "NEWS"},
		postgrestest.Route{EventType: "REVIEW", Strategy: notification.Aggregate, DigestWindow: time.Second},
		postgrestest.Route{EventType: "OFFER", Channel: notification.Push, ExpiresAfter: time.Hour},
		postgrestest.Route{EventType: "OFFER", Channel: notification.SMS, OnEscalationOnly: true, ExpiresAfter: time.Hour})
	s.configure("docs/amount.md")
	s.fill(
		postgrestest.Escalation{EventType: "OFFER", From: notification.Push, After: 15 * time.Second},
		postgrestest.Template{Title: "News", Body: "of today"})
	for _, channel := range []string{"EMAIL", "PUSH", "SMS"} {
		s.fault(channel, `{"status":503}`)
	}
	s.starter("poller", "start")
	w := s.startWorker(escalators...)
	write := func(limit string, flags ...string) (events []string) {
		for eventType, aggregate := range map[string]string{"CODE": "CUSTOMER/1", "NEWS": "BROADCAST/0", "REVIEW": "CUSTOMER/2",
			"OFFER": "CUSTOMER/3"} {
			events = append(events, s.emit(s.name+"-"+limit+"-"+eventType, eventType, aggregate, "{}", flags...))
		}
		return events
	}
	late := write("short", "--expires-in", "6s")
	past := s.emit(s.name+"-past", "CODE", "CUSTOMER/4", "{}", "--expires-in", "1ns")
	ahead := append(write("none"), write("ahead", "--expires-in", "1h")...)

	s.awaitSome(10, `SELECT count(*) FROM delivery_attempt`)
	w.kill()
	w = s.startWorker(escalators...)
	s.awaitCount(0, `SELECT count(*) FROM event_outbox WHERE event_id LIKE '%-short-%' AND expires_at > now()`)
	w.kill()
	s.mend()
	s.startWorker(escalators...)
	s.awaitSuccess(append(append(ahead, late...), past)...)

	sent := s.accepted()
	require.Zero(t, s.count(`
		SELECT count(*)
		FROM   notification
		WHERE  event_id LIKE '%-short-%'
		AND    channel <> 'WEBSOCKET'
		AND    NOT (status = 'CANCELLED' AND last_error = 'EXPIRED')`), "all others expired")
	require.Equal(t, customers+3, s.count(`SELECT count(*) FROM notification WHERE channel <> 'WEBSOCKET' AND last_error = 'EXPIRED'`))
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE event_id LIKE '%-short-%' AND escalated_from IS NOT NULL`),
		"an expired delivery does not escalate")
	for _, id := range s.deliveries(`SELECT DISTINCT coalesce(digest_id, delivery_id) FROM notification WHERE channel <> 'WEBSOCKET' ` +
		`AND event_id NOT LIKE '%-short-%'`) {
		require.Positive(t, sent[id], id)
		delete(sent, id)
	}
	require.Empty(t, sent, "nothing else was sent")
	require.Empty(t, s.deadLetters())

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
