package receipts_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/receipts/receiptstest"
	"herald/internal/suppression"
)

// event returns an event of SendGrid's webhook.
func event(delivery, message, id, word, more string) string {
	return fmt.Sprintf(`{"event":%q,"sg_event_id":%q,"sg_message_id":"%s.recvd-1.0","timestamp":%d,"email":"ada@example.com","delivery_id":%q%s}`,
		word, id, message, time.Now().Unix(), delivery, more)
}

const statuses = `SELECT channel || ' ' || status || coalesce(' ' || last_error, '') FROM notification ORDER BY id`

// TestBatchIsStored sends an e-mail's events in one batch, out of order, and then sends it again.
func TestBatchIsStored(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	arrived, gone := r.sent("EMAIL", "grace@example.com", "m1"), r.sent("EMAIL", "Ada@example.com", "m2")
	batch := "[" + strings.Join([]string{
		event(arrived, "m1", "e1", "delivered", ""),
		event(arrived, "m1", "e2", "processed", ""),
		event(gone, "m2", "e3", "bounce", `,"type":"bounce","status":"5.1.1","reason":"550 <ada@example.com> unknown"`),
		event("evt-none-customer42-EMAIL", "m3", "e4", "delivered", ""),
		`{"event":"delivered","sg_event_id":"e5","timestamp":1600112492}`, // from another program's e-mail
		`{"event":"delivered","delivery_id":"x"}`,
	}, ",") + "]"

	for range 2 {
		require.Equal(t, http.StatusNoContent, r.sendgrid(batch))
		rows := r.texts(statuses)
		require.Equal(t, "EMAIL DELIVERED", rows[0])
		require.Contains(t, rows[1], "EMAIL FAILED")
		require.Contains(t, rows[1], "550 [address] unknown")
		require.Equal(t, []string{"e1", "e2", "e3"}, r.texts(`SELECT receipt_id FROM delivery_receipt ORDER BY 1`))
		require.Equal(t, []string{"BOUNCE"},
			r.texts(`SELECT reason FROM recipient_suppression WHERE address_hash = $1`, r.store.AddressHash("ada@example.com")))
	}

	require.Equal(t, int64(1), r.counted("herald_receipts", "channel=EMAIL", "outcome=delivered"))
	require.Equal(t, int64(1), r.counted("herald_receipts", "channel=EMAIL", "outcome=bounced"))
	require.Equal(t, int64(1), r.counted("herald_receipts", "channel=EMAIL", "outcome=noted"))
	require.Equal(t, int64(3), r.counted("herald_receipts", "channel=EMAIL", "outcome=repeated"))
	require.Equal(t, int64(4), r.counted("herald_receipts", "channel=EMAIL", "outcome=unknown"))
	require.Equal(t, int64(2), r.counted("herald_receipts", "channel=EMAIL", "outcome=malformed"))
	require.Equal(t, int64(2), r.counted("herald_receipt_age", "channel=EMAIL"))
	require.Contains(t, r.log.String(), "malformed receipt")
	require.NotContains(t, r.log.String(), "example.com")
}

// TestStatusIsStored sends Twilio's statuses of two text messages.
func TestStatusIsStored(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	arrived, gone := r.sent("SMS", number, "SM1"), r.sent("SMS", number, "SM2")
	for range 2 {
		require.Equal(t, http.StatusNoContent, r.status(arrived, "SM1", "delivered", ""))
		require.Equal(t, http.StatusNoContent, r.status(arrived, "SM1", "sent", ""))
		require.Equal(t, http.StatusNoContent, r.status(gone, "SM2", "undelivered", "30005"))
		require.Equal(t, http.StatusNoContent, r.status("evt-none-customer42-SMS", "SM3", "delivered", ""))
		require.Equal(t, http.StatusNoContent, r.status(arrived, "", "delivered", ""))
		require.Equal(t, http.StatusNoContent, r.status("", "SM1", "delivered", ""))
	}

	rows := r.texts(statuses)
	require.Equal(t, "SMS DELIVERED", rows[0])
	require.Contains(t, rows[1], "SMS FAILED")
	require.Contains(t, rows[1], "error 30005: the number is unknown")
	require.Equal(t, []string{"SM1/delivered", "SM1/sent", "SM2/undelivered"}, r.texts(`SELECT receipt_id FROM delivery_receipt ORDER BY 1`))
	require.Equal(t, []string{"INVALID"},
		r.texts(`SELECT reason FROM recipient_suppression WHERE address_hash = $1`, r.store.AddressHash(number)))
	require.Equal(t, int64(4), r.counted("herald_receipts", "channel=SMS", "outcome=unknown"))
	require.Equal(t, int64(2), r.counted("herald_receipts", "channel=SMS", "outcome=malformed"))
	require.Equal(t, int64(3), r.counted("herald_receipts", "channel=SMS", "outcome=repeated"))
}

// TestInbound sends answers that stop and resume messages, and other texts. A replayed answer
// changes nothing.
func TestInbound(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	suppressed := func() []string {
		return r.texts(`SELECT reason FROM recipient_suppression WHERE channel = 'SMS' AND address_hash = $1 ORDER BY 1`,
			r.store.AddressHash(number))
	}
	require.NoError(t, suppression.On(r.store).Suppress(t.Context(), notification.SMS, number, notification.SuppressedInvalid, ""))
	steps := []struct {
		message, body string
		want          []string
	}{
		{message: "SM1", body: "HELP", want: []string{"INVALID"}},
		{message: "SM2", body: "Thanks, see you at 8", want: []string{"INVALID"}},
		{message: "SM3", body: "stop", want: []string{"INVALID", "OPT_OUT"}},
		{message: "SM3", body: "stop", want: []string{"INVALID", "OPT_OUT"}},
		{message: "SM4", body: "START", want: []string{"INVALID"}},
		{message: "SM3", body: "stop", want: []string{"INVALID"}},
		{message: "SM5", body: "STOP", want: []string{"INVALID", "OPT_OUT"}},
		{message: "SM4", body: "START", want: []string{"INVALID", "OPT_OUT"}},
	}
	for _, step := range steps {
		fields := url.Values{"MessageSid": {step.message}, "From": {number}, "Body": {step.body}}
		answer, text := r.post("/webhooks/twilio/inbound", r.signer.Twilio("/webhooks/twilio/inbound", fields), fields.Encode())
		require.Equal(t, http.StatusOK, answer.StatusCode, text)
		require.Equal(t, "<Response/>", text)
		require.Equal(t, "text/xml; charset=utf-8", answer.Header.Get("Content-Type"))
		require.Equal(t, step.want, suppressed(), "%+v", step)
	}
	require.Equal(t, http.StatusOK, r.text("SM6", "whatsapp:"+number, "STOP"))
	require.Equal(t, int64(1), r.counted("herald_receipts", "channel=SMS", "outcome=malformed"))
}

// TestRefusals sends invalid requests to each path. Nothing is stored, and the answers do not help
// a forger. If the header shows that a request is invalid, Herald does not wait for the body.
func TestRefusals(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	delivery := r.sent("EMAIL", "ada@example.com", "m1")
	keyless := newRoom(t, "SENDGRID_WEBHOOK_PUBLIC_KEY", "", "TWILIO_AUTH_TOKEN", "")
	nowhere := newRoom(t, "PUBLIC_URL", "")
	for _, at := range []*room{r, keyless, nowhere} {
		at.hooks.SetBodyTimeout(time.Hour)
	}
	const sendgrid, twilio, inbound = "/webhooks/sendgrid", "/webhooks/twilio", "/webhooks/twilio/inbound"
	batch := "[" + event(delivery, "m1", "e1", "bounce", "") + "]"
	now := time.Now()
	signed := r.signer.SendGrid(now, batch)
	without := func(name string) http.Header {
		header := signed.Clone()
		header.Del(name)
		return header
	}
	fields := url.Values{"MessageSid": {"SM1"}, "MessageStatus": {"failed"}}
	texted := r.signer.Twilio(twilio+"?delivery_id="+delivery, fields)
	long, longText := strings.Repeat(" ", 1<<20)+"[]", strings.Repeat(" ", 64<<10)+"[]"
	tests := []struct {
		name, path, body string
		header           http.Header
		at               *room
		status           int
		cause            string
	}{
		{name: "no signature", path: sendgrid, body: batch, header: without("X-Twilio-Email-Event-Webhook-Signature"), status: 403,
			cause: "unsigned"},
		{name: "no time", path: sendgrid, body: batch, header: without("X-Twilio-Email-Event-Webhook-Timestamp"), status: 403, cause: "unsigned"},
		{name: "another body", path: sendgrid, body: batch + " ", header: signed, status: 403, cause: "forged"},
		{name: "another key", path: sendgrid, body: batch, header: keyless.signer.SendGrid(now, batch), status: 403, cause: "forged"},
		{name: "a malformed signature", path: sendgrid, body: batch, header: http.Header{
			"X-Twilio-Email-Event-Webhook-Signature": {"%"}, "X-Twilio-Email-Event-Webhook-Timestamp": {fmt.Sprint(now.Unix())},
		}, status: 403, cause: "forged"},
		{name: "older than SendGrid repeats", path: sendgrid, body: batch, header: r.signer.SendGrid(now.Add(-25*time.Hour-time.Minute), batch),
			status: 403, cause: "stale"},
		{name: "no key here", path: sendgrid, body: batch, header: signed, at: keyless, status: 403, cause: "no_key"},
		{name: "too large", path: sendgrid, body: long, header: r.signer.SendGrid(now, long), status: 413, cause: "too_large"},
		{name: "a status without a signature", path: twilio, body: fields.Encode(), header: http.Header{}, status: 403, cause: "unsigned"},
		{name: "a status of another delivery", path: twilio + "?delivery_id=x", body: fields.Encode(), header: texted, status: 403,
			cause: "forged"},
		{name: "a status of no delivery", path: twilio, body: fields.Encode(), header: texted, status: 403, cause: "forged"},
		{name: "another status", path: twilio + "?delivery_id=" + delivery, body: fields.Encode() + "&ErrorCode=30005", header: texted,
			status: 403, cause: "forged"},
		{name: "a status that is no form", path: twilio + "?delivery_id=" + delivery, body: "%zz", header: texted, status: 403, cause: "forged"},
		{name: "a status, and no token here", path: twilio + "?delivery_id=" + delivery, body: fields.Encode(), header: texted, at: keyless,
			status: 403, cause: "no_key"},
		{name: "a status, and no address here", path: twilio + "?delivery_id=" + delivery, body: fields.Encode(),
			header: nowhere.signer.Twilio(twilio, fields), at: nowhere, status: 403, cause: "no_key"},
		{name: "a status that is too large", path: twilio, body: longText, header: texted, status: 413, cause: "too_large"},
		{name: "a message without a signature", path: inbound, body: "MessageSid=SM1&From=%2B393401234567&Body=STOP", header: http.Header{},
			status: 403, cause: "unsigned"},
		{name: "a message, and no token here", path: inbound, body: fields.Encode(), header: r.signer.Twilio(inbound, fields), at: keyless,
			status: 403, cause: "no_key"},
		{name: "a message signed for the other path", path: inbound, body: fields.Encode(), header: r.signer.Twilio(twilio, fields), status: 403,
			cause: "forged"},
		{name: "a message that is too large", path: inbound, body: longText, header: texted, status: 413, cause: "too_large"},
	}
	for _, tt := range tests {
		at := r
		if tt.at != nil {
			at = tt.at
		}
		before := at.counted("herald_receipts_refused", "cause="+tt.cause)
		answer, text := at.post(tt.path, tt.header.Clone(), tt.body)
		require.Equal(t, tt.status, answer.StatusCode, "%s: %s", tt.name, text)
		require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"), tt.name)
		require.Equal(t, before+1, at.counted("herald_receipts_refused", "cause="+tt.cause), tt.name)
		require.Contains(t, at.log.String(), "cause="+tt.cause, tt.name)
		if tt.status == http.StatusForbidden {
			require.NotContains(t, text, tt.cause, tt.name)
		}
		if slices.Contains([]string{"unsigned", "stale", "no_key"}, tt.cause) {
			require.Equal(t, tt.status, at.stall(tt.path, tt.header, 1000).status(t), tt.name)
		}
	}
	require.Empty(t, r.texts(`SELECT receipt_id FROM delivery_receipt`))
	require.Equal(t, []string{"EMAIL SENT"}, r.texts(statuses))
	require.NotContains(t, r.log.String(), "example.com")
	answer, _ := r.post(sendgrid, r.signer.SendGrid(now.Add(-24*time.Hour-30*time.Minute), "[]"), "[]")
	require.Equal(t, http.StatusNoContent, answer.StatusCode, "SendGrid repeats a request for a day")
}

// TestOtherRequests uses methods and paths that no provider uses.
func TestOtherRequests(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	answer, err := http.Get(r.URL + "/webhooks/sendgrid")
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode)
	require.Equal(t, "POST", answer.Header.Get("Allow"))
	answer, _ = r.post("/webhooks/mailgun", http.Header{}, "")
	require.Equal(t, http.StatusNotFound, answer.StatusCode)
}

// TestDatabaseAway sends requests while the database is down. The answer makes providers repeat
// them.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	delivery := r.sent("EMAIL", "ada@example.com", "m1")
	r.store.Close()
	batch := "[" + event(delivery, "m1", "e1", "delivered", "") + "]"
	answer, _ := r.post("/webhooks/sendgrid", r.signer.SendGrid(time.Now(), batch), batch)
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.Equal(t, "1", answer.Header.Get("Retry-After"))
	require.Equal(t, http.StatusServiceUnavailable, r.status("evt-1-customer42-SMS", "SM1", "delivered", ""))
	require.Equal(t, http.StatusServiceUnavailable, r.text("SM2", number, "STOP"))
	require.Equal(t, http.StatusNoContent, r.sendgrid("[]"), "there is nothing to store")
	require.Equal(t, int64(3), r.counted("herald_receipts_refused", "cause=database"))
	require.Equal(t, 1, strings.Count(r.log.String(), "cause=database"), "the log says it once a minute")
	require.Contains(t, r.log.String(), "closed pool")
}

// stalled is a request without its last byte.
type stalled struct {
	net.Conn
	answer *bufio.Reader
}

// stall sends a request of this length without its last byte.
func (r *room) stall(path string, header http.Header, length int) stalled {
	r.t.Helper()
	conn, err := new(net.Dialer).DialContext(r.t.Context(), "tcp", r.Listener.Addr().String())
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = conn.Close() })
	var head strings.Builder
	require.NoError(r.t, header.Write(&head))
	go func() {
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n%s\r\n%s", path, length, head.String(),
			strings.Repeat(" ", length-1))
	}()
	return stalled{conn, bufio.NewReader(conn)}
}

// status waits for the answer.
func (s stalled) status(t *testing.T) int {
	t.Helper()
	require.NoError(t, s.SetReadDeadline(time.Now().Add(time.Minute)))
	answer, err := http.ReadResponse(s.answer, nil)
	require.NoError(t, err, "no answer")
	defer func() { _ = answer.Body.Close() }()
	return answer.StatusCode
}

// TestStalledBodies fills the budget of one endpoint with unfinished bodies. Other endpoints still
// accept requests. This endpoint accepts requests again after the bodies time out.
func TestStalledBodies(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	r.hooks.SetBodyTimeout(time.Hour)
	var endless []stalled
	for range 70 {
		endless = append(endless, r.stall("/webhooks/sendgrid", r.signer.SendGrid(time.Now(), "another body"), 1<<20))
	}
	require.Eventually(t, func() bool { return r.counted("herald_receipts_refused", "cause=full") > 0 }, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusNoContent, r.status(r.sent("SMS", number, "SM1"), "SM1", "delivered", ""))
	require.Equal(t, http.StatusOK, r.text("SM2", number, "STOP"))
	require.Equal(t, []string{"OPT_OUT"}, r.texts(`SELECT reason FROM recipient_suppression`))
	for _, request := range endless {
		require.NoError(t, request.Close())
	}
	require.Eventually(t, func() bool { return r.sendgrid("[]") == http.StatusNoContent }, time.Minute, 10*time.Millisecond)
}

// TestSlowBody sends a body too slowly, so that Herald stops reading.
func TestSlowBody(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	r.hooks.SetBodyTimeout(50 * time.Millisecond)
	require.Equal(t, http.StatusBadRequest, r.stall("/webhooks/twilio", r.signer.Twilio("/webhooks/twilio", nil), 1000).status(t))
	require.Equal(t, int64(1), r.counted("herald_receipts_refused", "cause=incomplete"))
}

// TestHostileTexts sends texts that the table may not accept. They must not cause a database error:
// after the answer 503 the provider would repeat the batch for a day.
func TestHostileTexts(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	delivery := r.sent("EMAIL", "ada@example.com", "m1")
	for i, reason := range []string{`\u0000`, `\ud800`, "\xff\xfe", `\r\n`, strings.Repeat("é", 5000), `';DROP TABLE notification`, `\u202e`} {
		batch := "[" + event(delivery, "m1", fmt.Sprint("e", i), "deferred", `,"reason":"`+reason+`"`) + "]"
		require.Equal(t, http.StatusNoContent, r.sendgrid(batch), reason)
	}
	require.Len(t, r.texts(`SELECT receipt_id FROM delivery_receipt`), 7)
	for _, id := range []string{`\u0000`, "\xff", strings.Repeat("x", 5000), `\u0007`} {
		batch := "[" + event(delivery, "m1", "id", "deferred", `,"sg_event_id":"`+id+`"`) + "," + event(id, "m1", "id"+id, "open", "") + "]"
		require.Equal(t, http.StatusNoContent, r.sendgrid(batch), id)
	}
	require.Equal(t, http.StatusNoContent, r.status("evt\x00", "SM1", "delivered", ""))
	require.Equal(t, http.StatusOK, r.text("SM\x00", number, "STOP"))
}

// While operators replace a key or a token, signatures with the old and the new one are valid.
func TestPreviousKeys(t *testing.T) {
	t.Parallel()

	const sendgrid, inbound = "/webhooks/sendgrid", "/webhooks/twilio/inbound"
	previous, stranger := receiptstest.New("https://herald.example.com"), receiptstest.New("https://herald.example.com")
	r := newRoom(t, "SENDGRID_WEBHOOK_PUBLIC_KEY_PREVIOUS", previous.PublicKey(), "TWILIO_AUTH_TOKEN_PREVIOUS", previous.TwilioToken,
		"VONAGE_SIGNATURE_SECRET_PREVIOUS", previous.VonageSecret)
	fields := url.Values{"MessageSid": {"SM1"}, "From": {"+393401234567"}, "Body": {"hello"}}
	for signer, want := range map[*receiptstest.Signer]bool{&r.signer: true, &previous: true, &stranger: false} {
		answer, _ := r.post(sendgrid, signer.SendGrid(time.Now(), "[]"), "[]")
		require.Equal(t, want, answer.StatusCode == http.StatusNoContent)
		answer, _ = r.post(inbound, signer.Twilio(inbound, fields), fields.Encode())
		require.Equal(t, want, answer.StatusCode == http.StatusOK)
		answer, _ = r.post("/webhooks/vonage", http.Header{"Content-Type": {"application/json"}},
			signer.Vonage(time.Now(), map[string]string{"messageId": "V1"}))
		require.Equal(t, want, answer.StatusCode == http.StatusNoContent)
	}
}
