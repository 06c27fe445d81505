package e2e_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/inbox"
	"herald/internal/notification"
)

func (s *system) offer(name, eventType string) (event string) {
	s.t.Helper()
	return s.emit(s.name+"-"+name, eventType, "CUSTOMER/42", "{}")
}

// says waits until delivery show and delivery why print all facts.
func (s *system) says(id string, facts ...string) {
	s.t.Helper()
	for _, verb := range []string{"show", "why"} {
		var said string
		missing := func(fact string) bool { return !strings.Contains(said, fact) }
		s.eventually(func() bool {
			said, _ = s.tryStarter("delivery", verb, id) // there may be no row yet
			return !slices.ContainsFunc(facts, missing)
		}, "delivery %s %s does not say %q", verb, id, facts)
	}
}

// An unread message escalates to an e-mail. When its receipt reports a bounce, an SMS follows. Each
// is sent once, although workers die meanwhile. Events of type SLOW escalate after an hour.
func TestEscalation(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.fill(postgrestest.Recipient{Email: "ada@example.com", Phone: "+12025550142"})
	for _, eventType := range []string{"QUICK", "SLOW"} {
		s.fill(
			postgrestest.Route{EventType: eventType, Channel: notification.WebSocket},
			postgrestest.Route{EventType: eventType, OnEscalationOnly: true},
			postgrestest.Route{EventType: eventType, Channel: notification.SMS, OnEscalationOnly: true})
	}
	s.fill(
		postgrestest.Escalation{EventType: "QUICK", From: notification.WebSocket, To: notification.Email, After: 3 * time.Second},
		postgrestest.Escalation{EventType: "SLOW", From: notification.WebSocket, To: notification.Email, After: time.Hour},
		postgrestest.Escalation{EventType: "QUICK", After: time.Hour, Until: notification.UntilDelivered},
		postgrestest.Template{Title: "A table", Body: "is free"},
		postgrestest.Template{EventType: "QUICK.escalated", Title: "A table still", Body: "is free"})
	w := s.startAll(escalators...)
	event := s.offer("unread", "QUICK")
	screen, mail, text := event+"-customer42-WEBSOCKET", event+"-customer42-EMAIL", event+"-customer42-SMS"
	s.awaitDelivery(screen, "SENT")
	w.kill()
	w = s.startWorker(escalators...)
	s.awaitDelivery(mail, "SENT")
	s.says(screen, "it did not arrive, and "+mail+" follows")
	s.says(mail, " to be delivered, then SMS")
	require.Contains(t, s.starter("event", "show", event), "SENT, follows "+screen+", else SMS")
	require.Contains(t, s.starter("delivery", "why", "--event", event, "--recipient", "customer/42", "--channel", "sms"),
		"the rules decide about it when an earlier delivery does not arrive")

	w.kill()
	s.record(notification.Receipt{Provider: "sendgrid", ID: "r-1", DeliveryID: mail, Word: "bounce", Status: notification.Failed})
	s.startWorker(escalators...)
	s.awaitSuccess(event)
	require.Equal(t, map[string]int{mail: 1, text: 1}, s.accepted())
	require.Equal(t, 1,
		s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND title = 'A table still' AND escalated_from = $2", mail, screen))
	require.Equal(t, 1,
		s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'SENT' AND escalated_from = $2", text, mail))
	require.Equal(t, 1,
		s.count(`SELECT count(*) FROM notification_decision WHERE event_id = $1 `+
			`AND channels = '{"WEBSOCKET": "SELECTED", "EMAIL": "SELECTED", "SMS": "SELECTED"}'`, event))
	s.endsEscalations()
	s.escalatesAgain()
	s.escalatesAsDocumented()
}

// escalators are the arguments of a worker for the channels of escalations.
var escalators = []string{"--events", "--channels", "websocket,email,sms,push"}

// With the configuration of docs/escalation.md, the push message fails and the text message does not
// arrive, so an e-mail follows.
func (s *system) escalatesAsDocumented() {
	s.configure("docs/escalation.md")
	s.fill(
		postgrestest.Recipient{UserID: "43", Phone: "+12025550143"}, postgrestest.Recipient{UserID: "44", Email: "bob@example.com"},
		postgrestest.Recipient{UserID: "45", Email: "cleo@example.com", Phone: "+12025550145"},
		postgrestest.Device{UserType: notification.Customer, UserID: "45", Token: "phone"})
	s.fault("PUSH", `{"status":400}`)
	event := s.emit(s.name+"-free", "TABLE_OFFERED", "CUSTOMER/45", "{}")
	push, text, mail := event+"-customer45-PUSH", event+"-customer45-SMS", event+"-customer45-EMAIL"
	s.awaitDelivery(text, "SENT")
	require.Zero(s.t, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1", mail), "the SMS has an hour to arrive")
	s.record(notification.Receipt{Provider: "twilio", ID: "r-3", DeliveryID: text, Word: "undelivered", Status: notification.Failed})
	s.awaitDelivery(mail, "SENT")
	s.awaitSuccess(event)
	require.Equal(s.t, 2,
		s.count("SELECT count(*) FROM notification WHERE (delivery_id, escalated_from) IN (($1, $2), ($3, $1))", text, push, mail))
	require.Equal(s.t, []int{0, 1, 1}, []int{s.accepted()[push], s.accepted()[text], s.accepted()[mail]})

	for customer, reached := range map[string]string{"43": "SMS", "44": "EMAIL"} {
		unreachable := s.emit(s.name+"-no-device-"+customer, "TABLE_OFFERED", "CUSTOMER/"+customer, "{}")
		at := unreachable + "-customer" + customer + "-" + reached
		s.awaitDelivery(at, "SENT")
		require.Contains(s.t, s.starter("delivery", "why", at), "decided now", "SELECTED")
		why := s.starter("delivery", "why", "--event", unreachable, "--recipient", "customer/"+customer, "--channel", "push")
		require.Contains(s.t, why, "NO_ADDRESS, so the rules judge SMS at once")
	}
}

// No message follows if the recipient has read the message, if the event is cancelled, or after
// an operator has ended the escalation.
func (s *system) endsEscalations() {
	before := len(s.accepted())
	read, cancelled, ended := s.offer("read", "SLOW"), s.offer("cancelled", "SLOW"), s.offer("ended", "SLOW")
	for _, event := range []string{read, cancelled, ended} {
		s.awaitDelivery(event+"-customer42-WEBSOCKET", "SENT")
		s.says(event+"-customer42-WEBSOCKET", " to be read, then EMAIL")
	}

	id := s.count("SELECT id FROM notification WHERE event_id = $1", read)
	require.NoError(s.t,
		inbox.On(s.gatewayStore()).MarkRead(s.t.Context(), notification.RecipientKey{UserType: notification.Customer, UserID: "42"}, int64(id)))
	s.starter("event", "cancel", cancelled)
	require.Contains(s.t, s.starter("delivery", "cancel", ended+"-customer42-WEBSOCKET"), "its escalation has ended")

	s.awaitSuccess(read)
	s.awaitSuccess(ended)
	s.says(read+"-customer42-WEBSOCKET", "nothing follows: the recipient has read a notification of the event")
	s.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1 AND outcome = 'CANCELLED'", cancelled)
	require.Len(s.t, s.accepted(), before)
	require.Equal(s.t, 3, s.count("SELECT count(*) FROM notification WHERE event_type = 'SLOW'"))
}

// An event whose workflow was lost continues the escalation, and repeats no message.
func (s *system) escalatesAgain() {
	event := s.offer("lost", "QUICK")
	screen, mail := event+"-customer42-WEBSOCKET", event+"-customer42-EMAIL"
	s.awaitDelivery(mail, "SENT")
	for _, id := range []string{event, screen, mail, screen + "-escalation", mail + "-escalation"} {
		s.lose(id)
	}
	s.exec("UPDATE processed_event SET status = 'PROCESSING', created_at = now() - interval '1 hour' WHERE event_id = $1", event)
	s.exec("UPDATE notification SET created_at = now() - interval '1 hour' WHERE event_id = $1", event)

	s.sweep()

	s.says(mail, " to be delivered, then SMS")
	require.Equal(s.t, 1, s.accepted()[mail])
	s.record(notification.Receipt{Provider: "sendgrid", ID: "r-2", DeliveryID: mail, Word: "delivered", Status: notification.Delivered})
	s.awaitSuccess(event)
	require.Equal(s.t, 1, s.accepted()[mail])
	require.Zero(s.t, s.accepted()[event+"-customer42-SMS"])
}
