package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
	"herald/internal/receipts/receiptstest"
	"herald/internal/stacktest"
	"herald/tools/sandbox"
	"herald/workflows"
)

// signing returns the settings with which a gateway accepts a signer.
func signing(signer receiptstest.Signer) []string {
	return []string{"PUBLIC_URL=" + signer.PublicURL, "TWILIO_AUTH_TOKEN=" + signer.TwilioToken,
		"SENDGRID_WEBHOOK_PUBLIC_KEY=" + signer.PublicKey()}
}

// sentMails inserts this number of deliveries that SendGrid has accepted.
func (s *system) sentMails(count int) {
	s.t.Helper()
	s.fillMany(count, postgrestest.Delivery{
		EventType: "ORDER_READY", Status: notification.Sent, Attempts: 1, SentAt: time.Now().Add(-time.Minute), AvailableAt: time.Now(),
	}, postgrestest.Expressions{
		"event_id": "'mail-' || i", "user_id": "i", "delivery_id": "'mail-' || i || '-customer' || i || '-EMAIL'",
		"recipient_address": "'ada' || i || '@example.com'", "provider_message_id": "'m' || i",
	})
}

// mailEvents returns a batch of bounces for this number of e-mails.
func mailEvents(count int) string {
	var events []string
	for i := 1; i <= count; i++ {
		events = append(events,
			fmt.Sprintf(`{"event":"bounce","type":"bounce","status":"5.1.1","reason":"550 <ada%d@example.com> `+
				`unknown","sg_event_id":"e%d","sg_message_id":"m%d.x","timestamp":%d,"email":"ada%d@example.com","delivery_id":"mail-%d-customer%d-EMAIL"}`,
				i, i, i, time.Now().Unix(), i, i, i))
	}
	return "[" + strings.Join(events, ",") + "]"
}

// sendgrid sends a batch like SendGrid, and returns the status of the answer, or 0 without an
// answer.
func (g *gateway) sendgrid(signer receiptstest.Signer, batch string) int {
	g.t.Helper()
	request := must(http.NewRequestWithContext(g.t.Context(), http.MethodPost, "http://"+g.host()+"/webhooks/sendgrid",
		strings.NewReader(batch)))(g.t)
	request.Header = signer.SendGrid(time.Now(), batch)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// A gateway dies before it commits a batch: nothing is stored. SendGrid repeats the batch to another
// gateway, which dies after it has stored the batch and before it answers. A third gateway stores no
// receipt twice.
func TestGatewayDies(t *testing.T) {
	t.Parallel()

	const mails = 3
	s := newSystem(t)
	s.sentMails(mails)
	signer := receiptstest.New("https://herald.example.com")
	first := s.startGateway(signing(signer)...)
	lock := must(s.store.Pool.Begin(t.Context()))(t)
	must(lock.Exec(t.Context(), `SELECT FROM notification FOR UPDATE`))(t)
	answered := make(chan int, 1)
	go func() { answered <- first.sendgrid(signer, mailEvents(mails)) }()
	s.awaitCount(1, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'herald-webhooks' `+
		`AND wait_event_type = 'Lock'`)
	first.kill()
	require.Zero(t, <-answered)
	require.NoError(t, lock.Rollback(t.Context()))
	s.awaitCount(0, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'herald-webhooks'`)
	require.Zero(t, s.count(`SELECT count(*) FROM delivery_receipt`))

	database, databaseURL := stacktest.LinkTo(t, s.servers.databaseURL)
	second := s.startGateway(append(signing(signer), "DATABASE_URL="+databaseURL)...)
	database.MuteAfter("commit\x00")
	go func() { answered <- second.sendgrid(signer, mailEvents(mails)) }()
	s.awaitCount(mails, `SELECT count(*) FROM delivery_receipt`)
	second.kill()
	require.Zero(t, <-answered, "the gateway answered before it died")

	third := s.startGateway(signing(signer)...)
	require.Equal(t, http.StatusNoContent, third.sendgrid(signer, mailEvents(mails)))
	require.EqualValues(t, mails, third.metric(`herald_receipts_total{channel="EMAIL",outcome="repeated"}`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM delivery_receipt`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM notification WHERE status = 'FAILED' AND receipt_failed`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM recipient_suppression`))
	require.Equal(t, mails, s.count(`SELECT count(*) FROM delivery_follow_up WHERE kind = 'DEAD_LETTER'`), "each failure has one dead letter")
	require.NotContains(t, first.output.String()+second.output.String()+third.output.String(), "example.com")
}

// text sends a text message from a phone to our number.
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

// All database connections for signed-in people are busy, but the gateway still handles a STOP. Another
// gateway handles the START from the same phone.
func TestStopWhileTheGatewayIsBusy(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(people)
	signer := receiptstest.New("https://herald.example.com/herald")
	first := s.startGateway(append(signing(signer),
		"DATABASE_URL="+strings.Replace(s.servers.databaseURL, "pool_max_conns=8", "pool_max_conns=2", 1))...)
	second := s.startGateway(signing(signer)...)
	lock := must(s.store.Pool.Begin(t.Context()))(t)
	must(lock.Exec(t.Context(), `LOCK TABLE notification`))(t)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() { _, _ = first.request(http.MethodGet, "/api/notifications", "", bearer(tokenOf(t, ada))) })
	}
	s.awaitCount(2, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
	first.text(signer, "SM1", "STOP")
	require.Equal(t, 1, s.count(`SELECT count(*) FROM recipient_suppression WHERE channel = 'SMS' AND reason = 'OPT_OUT'`))
	require.NoError(t, lock.Rollback(t.Context()))
	asking.Wait()

	second.text(signer, "SM2", "START")
	first.text(signer, "SM1", "STOP")
	require.Zero(t, s.count(`SELECT count(*) FROM recipient_suppression`), "a repeated STOP from before the START changes nothing")
	require.NotContains(t, first.output.String()+second.output.String(), "+3934")
}

// bounces sends messages whose receipts the sandbox sends to a gateway. The sandbox's code for
// signatures shares nothing with the gateway's code.
func (s *system) bounces(g *gateway) {
	const status = `SELECT count(*) FROM notification WHERE event_id = $1 AND channel = $2 AND status = $3`
	s.exec(`UPDATE recipient SET email = 'Bounce@example.com', phone = '+12015550102' WHERE user_id = '1'`)
	s.writeEvents("bounces", 1)
	s.awaitCount(1, status, s.eventID("bounces", 0), "EMAIL", "FAILED")
	s.awaitCount(1, status, s.eventID("bounces", 0), "SMS", "DELIVERED")
	s.writeEvents("is-not-sent", 1)
	s.awaitSuccess(s.eventID("is-not-sent", 0))
	require.Equal(s.t, 1, s.count(`SELECT count(*) FROM notification_decision WHERE event_id = $1 AND channels::text LIKE '%SUPPRESSED%'`,
		s.eventID("is-not-sent", 0)))
	require.Zero(s.t, s.count(`SELECT count(*) FROM notification WHERE event_id = $1 AND channel = 'EMAIL'`, s.eventID("is-not-sent", 0)))
	s.eventually(func() bool { return g.metric(`herald_receipts_total{channel="EMAIL",outcome="repeated"}`) > 0 }, "the repeats do not come")
	for _, cause := range []string{"unsigned", "forged", "stale", "no_key"} {
		require.Zero(s.t, g.metric(`herald_receipts_refused_total{cause="`+cause+`"}`), cause)
	}
	require.Zero(s.t, g.metric(`herald_receipts_total{channel="EMAIL",outcome="malformed"}`))
	require.Zero(s.t, g.metric(`herald_receipts_total{channel="SMS",outcome="malformed"}`))
}

// get returns the body of an answer.
func get(t *testing.T, address string) string {
	t.Helper()
	answer := must(http.Get(address))(t)
	defer func() { _ = answer.Body.Close() }()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body := must(io.ReadAll(answer.Body))(t)
	return strings.TrimSpace(string(body))
}

// The unsubscribe link of an e-mail: a scanner's GET changes nothing. The page asks, then unsubscribes.
// The inbox shows and reverts it. A mailbox provider's POST unsubscribes with one click. Other messages
// still arrive. Mandatory messages have no link.
func (p *inboxes) unsubscribe(b *browser, ada *tab) {
	p.fill(
		postgrestest.Category{EventType: "RESERVATION_CONFIRMED", Category: "your_bookings"},
		postgrestest.Category{EventType: "RESERVATION_CANCELLED", Category: "your_bookings"})
	p.exec("UPDATE event_type_channel_routing SET mandatory = false WHERE event_type = 'RESERVATION_CONFIRMED'")
	decided := func(event, decision string) {
		p.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND user_id = '43' AND channels ->> 'EMAIL' = $2`,
			event, decision)
	}
	link := p.linkOf(p.confirm("19:00") + "-customer43-EMAIL")
	status, _ := p.gateway.request(http.MethodGet, link, "", nil)
	require.Equal(p.t, http.StatusOK, status)
	decided(p.confirm("19:15"), "SELECTED")

	page := b.open("http://" + p.gateway.host() + link)
	page.awaitText("h2", "Stop e-mails about your bookings?")
	require.Equal(p.t, "rgb(36, 86, 214)", evaluate[string](page, "getComputedStyle(document.querySelector('button')).backgroundColor"),
		"the page has the style of the inbox")
	page.tabTo("button.main")
	page.press(kb.Enter)
	page.awaitText("h2", "You will get no more e-mails about your bookings")
	off := p.confirm("19:30")
	decided(off, "USER_DISABLED")
	p.awaitDelivery(off+"-customer43-WEBSOCKET", "DELIVERED")

	ada.click("#open-preferences")
	chip := "[data-category=your_bookings] [data-channel=EMAIL]"
	ada.await("document.querySelector('" + chip + " input')?.checked === false")
	ada.click(chip)
	ada.click("#save")
	ada.await("!document.querySelector('dialog').open")
	decided(p.confirm("19:45"), "SELECTED")
	page.do(chromedp.Navigate("http://" + p.gateway.host() + link))
	page.awaitText("h2", "Stop e-mails about your bookings?")

	status, _ = p.gateway.request(http.MethodPost, link, "List-Unsubscribe=One-Click", nil)
	require.Equal(p.t, http.StatusOK, status)
	decided(p.confirm("20:00"), "USER_DISABLED")

	alert := p.alert("payments", "down") + "-admin1-EMAIL"
	p.awaitDelivery(alert, "SENT")
	require.Empty(p.t, mailed(p.t, p.messages(), alert).Unsubscribe, "a mandatory message has no unsubscribe link")
}

// linkOf waits until an e-mail is sent, and returns the path of its unsubscribe link.
func (p *inboxes) linkOf(deliveryID string) string {
	p.t.Helper()
	p.awaitDelivery(deliveryID, "SENT")
	link := must(url.Parse(mailed(p.t, p.messages(), deliveryID).Unsubscribe))(p.t)
	require.Equal(p.t, "http://localhost:8080/unsubscribe", link.Scheme+"://"+link.Host+link.Path)
	return link.RequestURI()
}

// mailed returns the message of a delivery.
func mailed(t *testing.T, messages []sandbox.Entry, deliveryID string) sandbox.Entry {
	t.Helper()
	i := slices.IndexFunc(messages, func(m sandbox.Entry) bool { return m.DeliveryID == deliveryID })
	require.GreaterOrEqual(t, i, 0, deliveryID)
	return messages[i]
}

// Receipts arrive while no worker runs, and while a worker runs. The dead-letter queue gets each
// failure once. A waiting escalation ends when its message has arrived.
func TestFollowUpsOfReceipts(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.fill(postgrestest.Escalation{
		EventType: "LOAD", From: notification.SMS, To: notification.Push, After: time.Hour, Until: notification.UntilDelivered,
	})
	w := s.startAll(loadWorker...)
	s.writeEvents("r", 1)
	event := s.eventID("r", 0)
	mail, text := event+"-customer1-EMAIL", event+"-customer1-SMS"
	s.awaitDelivery(mail, "SENT")
	s.awaitDelivery(text, "SENT")
	w.kill()

	bounce := notification.Receipt{Provider: "sendgrid", ID: "bounce", DeliveryID: mail, At: time.Now(), Word: "bounce",
		Detail: "550 no such mailbox", Status: notification.Failed}
	s.record(bounce, notification.Receipt{Provider: "twilio", ID: "delivered", DeliveryID: text, At: time.Now(), Word: "delivered",
		Status: notification.Delivered})
	require.Equal(t, 2, s.count(`SELECT count(*) FROM delivery_follow_up`))
	require.Regexp(t, `follow-ups +2 wait`, s.starter("status"))

	w = s.startWorker(loadWorker...)
	s.awaitCount(0, `SELECT count(*) FROM delivery_follow_up`)
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), workflows.EscalationID(text), "").Get(t.Context(), nil))
	s.awaitSuccess(event)
	letters := s.deadLetters()
	require.Len(t, letters, 1)
	require.Contains(t, string(letters[0].Body), `"delivery_id":"`+mail+`"`)
	require.Contains(t, string(letters[0].Body), "bounced: 550 no such mailbox")

	// A worker starts the terminated workflow again.
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), workflows.FollowUpID(s.name), "", "test"))
	s.record(bounce, notification.Receipt{Provider: "twilio", ID: "undelivered", DeliveryID: text, At: time.Now(), Word: "undelivered",
		Detail: "30005", Status: notification.Failed})
	letters = s.deadLetters()
	require.Len(t, letters, 1, "only the text message's failure is new")
	require.Contains(t, string(letters[0].Body), `"delivery_id":"`+text+`"`)

	require.Contains(t, s.starter("delivery", "list", "--status", "failed"), "bounced: 550 no such mailbox")
	require.Regexp(t, `sendgrid +bounce +FAILED +550 no such mailbox`, s.starter("delivery", "show", mail))
	require.Contains(t, s.starter("delivery", "why", mail), "said later that it did not arrive")
	require.Regexp(t, `deliveries +1 SENT, 2 FAILED`, s.starter("event", "show", event))
	require.NotContains(t, s.starter("status"), "follow-ups")
	// A retry that bounces is a separate failure, and so is a retry that the provider rejects. A
	// receipt that confirms the rejection is not.
	require.Contains(t, s.starter("delivery", "retry", mail), "sent")
	s.awaitDelivery(mail, "SENT")
	requireLetter := func(attempts int) {
		s.awaitDelivery(mail, "FAILED")
		letters := s.deadLetters()
		require.Len(t, letters, 1)
		require.Contains(t, string(letters[0].Body), fmt.Sprintf(`"attempts":%d`, attempts))
	}
	bounce.ID = "bounce-of-the-retry"
	s.record(bounce)
	requireLetter(2)
	s.fault("EMAIL", `{"status":400}`)
	_, _ = s.tryStarter("delivery", "retry", mail)
	requireLetter(3)
	bounce.ID = "bounce-of-the-refused"
	s.record(bounce)
	require.Zero(t, s.count(`SELECT count(*) FROM delivery_follow_up`))
	require.Empty(t, s.deadLetters())
	require.NoError(t, w.stop())
}

// record stores receipts like a gateway.
func (s *system) record(given ...notification.Receipt) {
	s.t.Helper()
	must(receipts.On(s.gatewayStore()).RecordReceipts(s.t.Context(), given))(s.t)
}

// Vonage sends receipts for text messages. Herald suppresses a number that cannot get messages.
func TestReceiptsOfVonage(t *testing.T) {
	t.Parallel()

	s, gateway := newSystemWithReceipts(t, `{"delay":"10ms","twice":true}`)
	s.env = append(append(s.env, s.vonage()...), "SMS_PROVIDERS=vonage", "VONAGE_SIGNATURE_SECRET=e2e")
	s.startGateway("GATEWAY_HTTP_ADDR=" + gateway)
	s.route("NEWS", "SMS")
	s.fill(postgrestest.Recipient{UserID: "1", Phone: "+12025550101"}, postgrestest.Recipient{UserID: "2", Phone: "+15005550105"})
	s.startAll("--events", "--channels", "sms")
	arrived := s.emit(s.name+"-1", "NEWS", "CUSTOMER/1", "{}") + "-customer1-SMS"
	lost := s.emit(s.name+"-2", "NEWS", "CUSTOMER/2", "{}") + "-customer2-SMS"
	s.awaitDelivery(arrived, "DELIVERED")
	s.awaitDelivery(lost, "FAILED")
	require.Contains(t, s.starter("delivery", "show", lost), "the number gets no messages")
	s.awaitCount(1, `SELECT count(*) FROM recipient_suppression WHERE channel = 'SMS' AND reason = 'INVALID'`)
	s.awaitCount(2, `SELECT count(*) FROM delivery_receipt WHERE provider = 'vonage'`)
}
