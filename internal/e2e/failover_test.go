package e2e_test

import (
	"context"
	"crypto/rand"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// The first provider answers 429, and a worker is killed: everybody gets the e-mail through the mail
// server. If the first provider may have accepted an e-mail, only that provider gets it again, even if
// the mail server is up.
func TestFailover(t *testing.T) {
	t.Parallel()

	const customers = 16 // after 20 failed calls, the first provider would rest
	listener := must(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	s := newSystem(t, append(crashTimeouts, "SMTP_URL=smtp://"+listener.Addr().String(), "SMS_MAX_ATTEMPTS=100", "EMAIL_MAX_ATTEMPTS=100",
		"PUSH_MAX_ATTEMPTS=100",
		"EMAIL_RETRY_COEFFICIENT=1", "SMS_RETRY_COEFFICIENT=1", "PUSH_RETRY_COEFFICIENT=1", "EMAIL_RETRY_INTERVAL=500ms")...)
	s.env = append(s.env, s.vonage()...)
	cancel := s.serveSMTP(listener)
	s.customers(customers)
	s.route("NEWS", "EMAIL")
	w := s.startAll(loadWorker...)
	s.startWorker(loadWorker...)

	s.fault("email", `{"status":429}`)
	s.burst("", "NEWS", customers)
	s.awaitSome(customers/2, `SELECT count(*) FROM notification WHERE status = 'SENT'`)
	w.kill()
	s.awaitCount(customers, `SELECT count(*) FROM notification WHERE status = 'SENT' AND provider = 'smtp'`)
	accepted := s.accepted()
	require.Len(t, accepted, customers)
	for id, mails := range accepted {
		require.LessOrEqual(t, mails, 2, "%s: at most one duplicate, for the kill", id)
	}
	messages := s.messages()
	for _, m := range messages {
		require.Equal(t, 250, m.Status)
	}
	require.LessOrEqual(t, len(messages), customers+s.count(`SELECT count(*) FROM delivery_attempt WHERE outcome = 'LOST'`),
		"each repeat follows an attempt that was lost with its worker")

	s.fault("email", `{"drop":"after"}`)
	unclear := s.emit(s.name+"-unclear", "NEWS", "CUSTOMER/1", "{}") + "-customer1-EMAIL"
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND provider = 'sendgrid'`, unclear)
	s.fault("email", `{"status":429}`)
	s.awaitCount(1, `SELECT count(*) FROM (SELECT FROM delivery_attempt WHERE delivery_id = $1 AND outcome = 'BUSY' LIMIT 1) AS busy`, unclear)
	s.mend()
	s.awaitDelivery(unclear, "SENT")
	for _, m := range s.messages() {
		require.False(t, m.DeliveryID == unclear && m.Status == 250, "the mail server got it too")
	}
	require.Contains(t, s.starter("delivery", "show", unclear), "sendgrid")
	s.cutStays()

	cancel()
	s.fault("email", `{"status":403}`)
	nobody := s.emit(s.name+"-nobody", "NEWS", "CUSTOMER/2", "{}") + "-customer2-EMAIL"
	s.awaitCount(1, `SELECT count(*) FROM (SELECT FROM delivery_attempt WHERE delivery_id = $1 `+
		`AND detail LIKE '%smtp was out of reach: no connection' LIMIT 1) AS tried`, nobody)
	s.mend()
	s.awaitDelivery(nobody, "SENT")
}

// Twilio refuses text messages, and Vonage sends them. Then each provider in turn loses its
// connection after the whole message was sent. Nobody knows whether it has the message, so the
// message waits for that provider, although the other provider is up.
func (s *system) cutStays() {
	for eventType, channel := range map[string]notification.Channel{"MAIL": "EMAIL", "TEXT": "SMS", "PUSH": "PUSH"} {
		s.route(eventType, channel)
	}
	for _, fault := range []string{`{"status":429}`, `{"status":403}`} { // too many requests; our account is rejected
		s.fault("sms", fault)
		id := s.emit(s.name+"-"+fault[10:13], "TEXT", "CUSTOMER/1", "{}") + "-customer1-SMS"
		s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'SENT' AND provider = 'vonage'`, id)
		require.Equal(s.t, 1, s.accepted()[id])
		s.mend()
	}
	for _, tt := range []struct{ provider, fault, eventType, channel string }{
		{"sendgrid", "email", "MAIL", "EMAIL"},
		{"smtp", "smtp", "MAIL", "EMAIL"},
		{"twilio", "sms", "TEXT", "SMS"},
		{"vonage", "vonage", "TEXT", "SMS"},
		{"fcm", "push", "PUSH", "PUSH"},
	} {
		s.starter("channel", "use", tt.provider)
		s.eventually(func() bool {
			probe := s.emit(s.name+"-probe-"+rand.Text(), tt.eventType, "CUSTOMER/1", "{}") + "-customer1-" + tt.channel
			s.awaitDelivery(probe, "SENT")
			return s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND provider = $2`, probe, tt.provider) == 1
		}, "%s is not used", tt.provider)
		s.fault(tt.fault, `{"drop":"before"}`)
		id := s.emit(s.name+"-"+tt.provider, tt.eventType, "CUSTOMER/1", "{}") + "-customer1-" + tt.channel
		s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND provider = $2`, id, tt.provider)
		s.mend()
		s.awaitDelivery(id, "SENT")
		require.Equal(s.t, 1, s.accepted()[id], tt.provider)
		require.Equal(s.t, 1, s.count(`SELECT count(*) FROM notification WHERE delivery_id = $1 AND provider = $2`, id, tt.provider))
		s.starter("channel", "resume", tt.provider)
	}
}

// serveSMTP serves the sandbox's mail server until cancel, or the end of the test.
func (s *system) serveSMTP(listener net.Listener) (cancel func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	served := make(chan error, 1)
	go func() { served <- s.fakes.ServeSMTP(ctx, listener) }()
	s.t.Cleanup(func() {
		cancel()
		require.NoError(s.t, <-served)
	})
	return cancel
}

// vonage returns the settings with which Vonage sends text messages.
func (s *system) vonage() []string {
	return []string{"VONAGE_BASE_URL=" + s.sandbox.URL, "VONAGE_API_KEY=abcd1234", "VONAGE_API_SECRET=e2e", "VONAGE_FROM=Herald"}
}
