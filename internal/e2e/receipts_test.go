package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/receipts/receiptstest"
)

// signing are the settings by which a gateway knows a signer.
func signing(signer receiptstest.Signer) []string {
	return []string{"PUBLIC_URL=" + signer.PublicURL, "TWILIO_AUTH_TOKEN=" + signer.TwilioToken, "SENDGRID_WEBHOOK_PUBLIC_KEY=" + signer.PublicKey()}
}

// sentMails puts so many deliveries into the table that SendGrid has accepted.
func (s *system) sentMails(count int) {
	s.t.Helper()
	s.exec(`
		INSERT INTO notification (event_id, event_type, user_type, user_id, channel, delivery_id, title, body, recipient_address, status, attempt_count, sent_at, available_at, provider_message_id)
		SELECT 'mail-' || i, 'ORDER_READY', 'CUSTOMER', i, 'EMAIL', 'mail-' || i || '-customer' || i || '-EMAIL', 'Title', 'Body', 'ada' || i || '@example.com',
		       'SENT', 1, now() - interval '1 minute', now(), 'm' || i
		FROM   generate_series(1, $1) i`, count)
}

// mailEvents is a batch that says of so many mails that they bounced.
func mailEvents(count int) string {
	var events []string
	for i := 1; i <= count; i++ {
		events = append(events, fmt.Sprintf(`{"event":"bounce","type":"bounce","status":"5.1.1","reason":"550 <ada%d@example.com> unknown","sg_event_id":"e%d","sg_message_id":"m%d.x","timestamp":%d,"email":"ada%d@example.com","delivery_id":"mail-%d-customer%d-EMAIL"}`,
			i, i, i, time.Now().Unix(), i, i, i))
	}
	return "[" + strings.Join(events, ",") + "]"
}

// sendgrid sends a batch as SendGrid does, and returns the status of the answer; 0: there is
// none.
func (g *gateway) sendgrid(signer receiptstest.Signer, batch string) int {
	g.t.Helper()
	request, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, "http://"+g.host()+"/webhooks/sendgrid", strings.NewReader(batch))
	require.NoError(g.t, err)
	request.Header = signer.SendGrid(time.Now(), batch)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// TestGatewayDiesBeforeItAnswers kills a gateway when it has stored a batch and has not
// answered. SendGrid sends the batch again, to another one: everything was stored once.
func TestGatewayDiesBeforeItAnswers(t *testing.T) {
	t.Parallel()

	const mails = 3
	s := newSystem(t)
	s.sentMails(mails)
	signer := receiptstest.New("https://herald.example.com")
	database := newMute(t, s.servers.databaseURL)
	g := s.startGateway(append(signing(signer), "DATABASE_URL="+database.url)...)
	database.armed.Store(true)
	answered := make(chan int, 1)
	go func() { answered <- g.sendgrid(signer, mailEvents(mails)) }()
	s.awaitCount(mails, `SELECT count(*) FROM delivery_receipt`)
	g.kill()
	require.Zero(t, <-answered, "it answered before it died")

	next := s.startGateway(signing(signer)...)
	require.Equal(t, http.StatusNoContent, next.sendgrid(signer, mailEvents(mails)))
	require.InDelta(t, mails, next.metric(`herald_receipts_total{channel="EMAIL",outcome="repeated"}`), 0)
	require.Equal(t, mails, s.count(`SELECT count(*) FROM delivery_receipt`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM notification WHERE status = 'FAILED' AND receipt_failed`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM recipient_suppression`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'`), "each is told once")
	require.NotContains(t, g.output.String()+next.output.String(), "example.com")
}

// TestGatewayDiesBeforeItStores kills a gateway that is about to commit. Nothing is stored, and
// the repeat stores it.
func TestGatewayDiesBeforeItStores(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.sentMails(1)
	signer := receiptstest.New("https://herald.example.com")
	g := s.startGateway(signing(signer)...)
	lock, err := s.store.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `SELECT FROM notification FOR UPDATE`)
	require.NoError(t, err)
	answered := make(chan int, 1)
	go func() { answered <- g.sendgrid(signer, mailEvents(1)) }()
	s.awaitCount(1, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'herald-webhooks' AND wait_event_type = 'Lock'`)
	g.kill()
	require.Zero(t, <-answered)
	require.NoError(t, lock.Rollback(t.Context()))
	s.awaitCount(0, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'herald-webhooks'`)
	require.Zero(t, s.count(`SELECT count(*) FROM delivery_receipt`))

	next := s.startGateway(signing(signer)...)
	require.Equal(t, http.StatusNoContent, next.sendgrid(signer, mailEvents(1)))
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE receipt_failed`))
}

// TestStopWhileTheInboxIsSlow keeps all connections busy that serve people who are signed in.
// A STOP is still taken.
func TestStopWhileTheInboxIsSlow(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	signer := receiptstest.New("https://herald.example.com")
	g := s.startGateway(append(signing(signer), "DATABASE_URL="+strings.Replace(s.servers.databaseURL, "pool_max_conns=8", "pool_max_conns=2", 1))...)
	lock, err := s.store.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), `LOCK TABLE notification`)
	require.NoError(t, err)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() { _, _ = g.request(http.MethodGet, "/api/notifications", "", bearer(tokenOf(t, ada))) })
	}
	s.awaitCount(2, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	g.text(signer, "SM1", "STOP")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM recipient_suppression WHERE reason = 'OPT_OUT'`))
	require.NoError(t, lock.Rollback(t.Context()))
	asking.Wait()
}

// text lets somebody text to our number.
func (g *gateway) text(signer receiptstest.Signer, message, body string) {
	g.t.Helper()
	const path = "/webhooks/twilio/inbound"
	fields := url.Values{"MessageSid": {message}, "From": {"+393401234567"}, "Body": {body}}
	header := map[string]string{}
	for name, values := range signer.Twilio(path, fields) {
		header[name] = values[0]
	}
	status, answer := g.request(http.MethodPost, path, fields.Encode(), header)
	require.Equal(g.t, http.StatusOK, status)
	require.Equal(g.t, "<Response/>", answer)
}

// TestGatewayTakesStop lets somebody text STOP to one gateway and START to another.
func TestGatewayTakesStop(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	signer := receiptstest.New("https://herald.example.com/herald")
	first, second := s.startGateway(signing(signer)...), s.startGateway(signing(signer)...)
	first.text(signer, "SM1", "STOP")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM recipient_suppression WHERE channel = 'SMS' AND reason = 'OPT_OUT'`))
	second.text(signer, "SM2", "START")
	first.text(signer, "SM1", "STOP")
	require.Zero(t, s.count(`SELECT count(*) FROM recipient_suppression`), "an answer that came before changes nothing")
	require.NotContains(t, first.output.String()+second.output.String(), "+3934")
}

// mute is a way to a database that, once it is armed, lets a commit through and no answer
// to it.
type mute struct {
	url   string
	armed atomic.Bool
}

func newMute(t *testing.T, database string) *mute {
	t.Helper()
	behind, err := url.Parse(database)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	front := *behind
	front.Host = listener.Addr().String()
	m := &mute{url: front.String()}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go m.serve(client, behind.Host)
		}
	}()
	return m
}

// serve lasts as long as the client does.
func (m *mute) serve(client net.Conn, address string) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var silent atomic.Bool
	go pass(server, client, func([]byte) bool { return !silent.Load() })
	pass(client, server, func(sent []byte) bool {
		if m.armed.Load() && bytes.Contains(sent, []byte("commit\x00")) {
			silent.Store(true)
		}
		return true
	})
}

// pass hands on what comes, as long as it may.
func pass(from, to net.Conn, may func([]byte) bool) {
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if err != nil {
			return
		}
		if may(chunk[:n]) {
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
	}
}
