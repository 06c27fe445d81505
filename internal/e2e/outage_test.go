package e2e_test

import (
	"context"
	"flag"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var outageLength = flag.Duration("outage", 2*time.Second, "of each provider in TestEachProviderDown")

// Each provider in turn loses all connections under load, and a worker is killed meanwhile. No message
// is lost or fails, and the second provider of a channel reaches people while the first one is down.
func TestEachProviderDown(t *testing.T) {
	t.Parallel()

	t.Run("in the usual order", func(t *testing.T) {
		t.Parallel()
		eachProviderDown(t, "sendgrid,smtp", "twilio,vonage", []down{{"sendgrid", "email", "smtp"}, {"twilio", "sms", "vonage"}, {"fcm", "push", ""}, {"webhook", "webhook", ""}})
	})
	t.Run("in the other order", func(t *testing.T) {
		t.Parallel()
		eachProviderDown(t, "smtp,sendgrid", "vonage,twilio", []down{{"smtp", "smtp", "sendgrid"}, {"vonage", "vonage", "twilio"}})
	})
}

// down is the outage of one provider.
type down struct{ provider, fault, second string }

func eachProviderDown(t *testing.T, email, sms string, outages []down) {
	t.Helper()
	const customers, channels = 20, 4
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	s := newSystem(t, append(crashTimeouts, "SMTP_URL=smtp://"+listener.Addr().String(), "EMAIL_PROVIDERS="+email, "SMS_PROVIDERS="+sms,
		"EMAIL_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "WEBHOOK_MAX_ATTEMPTS=100")...)
	s.env = append(s.env, s.vonage()...)
	s.serveSMTP(listener)
	s.starter("migrate", "up")
	s.customers(customers)
	s.exec(`UPDATE recipient SET webhook_url = $1 || '/hooks/' || user_id`, s.sandbox.URL)
	s.route("NEWS", "EMAIL", "SMS", "PUSH", "WEBHOOK")
	w := s.startAll()
	s.startWorker()
	writing, stopWriting := context.WithCancel(t.Context())
	defer stopWriting()
	written := make(chan int, 1)
	go func() { written <- s.keepWriting(writing, customers, channels) }()

	const sentBy = `SELECT count(*) FROM notification WHERE status = 'SENT' AND provider = $1`
	for _, d := range outages {
		s.awaitSome(3, `SELECT count(*) FROM notification WHERE status = 'SENT' AND provider = '`+d.provider+`'`)
		began, before := time.Now(), s.count(sentBy, d.second)
		s.fault(d.fault, `{"drop":"before"}`)
		w.kill()
		w = s.startWorker()
		s.awaitSome(1, `SELECT (SELECT count(*) FROM provider_state WHERE provider = '`+d.provider+`' AND rests > 0)
			+ (SELECT count(*) FROM delivery_attempt WHERE detail LIKE 'webhook gave no clear answer%')`) // receivers of webhooks do not rest: they are many
		if d.second != "" {
			s.awaitSome(before+3, `SELECT count(*) FROM notification WHERE status = 'SENT' AND provider = '`+d.second+`'`)
		}
		time.Sleep(time.Until(began.Add(*outageLength)))
		s.mend()
		s.exec(`UPDATE provider_state SET rests_until = now() WHERE rests > 0`) // the test need not wait for the rest's end
	}
	stopWriting()
	deliveries := channels * <-written
	s.awaitCount(deliveries, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE status <> 'SENT'`))
	repeats := 0
	for id, messages := range s.accepted() {
		require.LessOrEqual(t, messages, 1+len(outages), id)
		repeats += messages - 1
	}
	require.Len(t, s.accepted(), deliveries)
	t.Logf("%d deliveries, %d kills, %d repeats", deliveries, len(outages), repeats)
}

// keepWriting writes events until ctx ends, and returns their number. It waits while 60 deliveries are
// open, so that a slow machine keeps up.
func (s *system) keepWriting(ctx context.Context, customers, channels int) (events int) {
	const write = `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT $1 || '-' || $2::int, 'NEWS', 'CUSTOMER', ($2::int % $3::int + 1)::text, '{}'
		WHERE  (SELECT count(*) FROM notification WHERE status = 'PENDING') + $4::int * (SELECT count(*) FROM event_outbox WHERE status = 'PENDING') < 60`
	for ctx.Err() == nil {
		written, err := s.store.Pool.Exec(s.t.Context(), write, s.name, events, customers, channels)
		if err != nil {
			return -1
		}
		events += int(written.RowsAffected())
		time.Sleep(100 * time.Millisecond)
	}
	return events
}
