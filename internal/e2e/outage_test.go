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

// down is the outage of one provider.
type down struct{ provider, fault, second string }

// noticed returns SQL whose result is positive when workers have noticed the outage.
func (d down) noticed() string {
	if d.provider == "webhook" { // receivers of webhooks do not rest, because there are many
		return `SELECT count(*) FROM delivery_attempt WHERE detail LIKE 'webhook gave no clear answer%'`
	}
	return `SELECT count(*) FROM provider_state WHERE provider = '` + d.provider + `' AND rests > 0`
}

// Under load, each provider in turn loses all connections while a worker is killed, first in the usual
// order of providers, then in the reverse order. No message is lost or fails. While the first provider
// of a channel is down, its second provider sends the messages.
func TestEachProviderDown(t *testing.T) {
	t.Parallel()

	const customers, channels = 20, 4
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	s := newSystem(t, append(crashTimeouts, "SMTP_URL=smtp://"+listener.Addr().String(),
		"EMAIL_MAX_ATTEMPTS=100", "SMS_MAX_ATTEMPTS=100", "PUSH_MAX_ATTEMPTS=100", "WEBHOOK_MAX_ATTEMPTS=100")...)
	s.env = append(s.env, s.vonage()...)
	s.serveSMTP(listener)
	s.customers(customers)
	s.exec(`UPDATE recipient SET webhook_url = $1 || '/hooks/' || user_id`, s.sandbox.URL)
	s.route("NEWS", "EMAIL", "SMS", "PUSH", "WEBHOOK")
	s.starter("poller", "start")
	writing, stopWriting := context.WithCancel(t.Context())
	defer stopWriting()
	written := make(chan int, 1)
	go func() { written <- s.keepWriting(writing, customers, channels) }()

	s.downInTurn("sendgrid,smtp", "twilio,vonage", down{"sendgrid", "email", "smtp"}, down{"twilio", "sms", "vonage"},
		down{"fcm", "push", ""}, down{"webhook", "webhook", ""})
	s.downInTurn("smtp,sendgrid", "vonage,twilio", down{"smtp", "smtp", "sendgrid"}, down{"vonage", "vonage", "twilio"})
	stopWriting()
	deliveries := channels * <-written
	s.startWorker(senders...)
	s.awaitCount(deliveries, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	require.Zero(t, s.count(`SELECT count(*) FROM notification WHERE status <> 'SENT'`))
	s.requireSent(nil, deliveries)
}

// senders are the arguments of a worker for the channels of TestEachProviderDown.
var senders = []string{"--events", "--channels", "email,sms,push,webhook"}

// downInTurn starts two workers with orders of providers, and stops them at the end.
func (s *system) downInTurn(email, sms string, outages ...down) {
	s.t.Helper()
	s.env = append(s.env, "EMAIL_PROVIDERS="+email, "SMS_PROVIDERS="+sms)
	w, other := s.startWorker(senders...), s.startWorker(senders...)
	sentBy := func(provider string) int {
		return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT' AND provider = $1`, provider)
	}
	sendsMore := func(provider string) {
		s.t.Helper()
		before := sentBy(provider)
		s.eventually(func() bool { return sentBy(provider) >= before+3 }, "%s sends nothing", provider)
	}
	for _, d := range outages {
		sendsMore(d.provider)
		began := time.Now()
		s.fault(d.fault, `{"drop":"before"}`)
		w.kill()
		w = s.startWorker(senders...)
		s.awaitSome(1, d.noticed())
		if d.second != "" {
			sendsMore(d.second)
		}
		time.Sleep(time.Until(began.Add(*outageLength)))
		s.mend()
		s.exec(`UPDATE provider_state SET rests_until = now() WHERE rests > 0`) // so that the test does not wait
	}
	require.NoError(s.t, w.stop(), "%s", w.output)
	require.NoError(s.t, other.stop(), "%s", other.output)
}

// keepWriting writes events until ctx ends, and returns their number. It waits while 60 deliveries are
// open, so that a slow machine keeps up.
func (s *system) keepWriting(ctx context.Context, customers, channels int) (events int) {
	const write = `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT $1 || '-' || $2::int, 'NEWS', 'CUSTOMER', ($2::int % $3::int + 1)::text, '{}'
		WHERE  (SELECT count(*) FROM notification WHERE status = 'PENDING') + $4::int * (SELECT count(*) FROM event_outbox
		       WHERE status = 'PENDING') < 60`
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
