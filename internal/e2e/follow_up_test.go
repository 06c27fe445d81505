package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/workflows"
)

// TestWhatFollowsReceipts lets receipts come while no worker runs, since the only one was
// killed, and while one does. The queue of dead letters hears of each failure once, and an
// escalation that waits ends as its message has arrived.
func TestWhatFollowsReceipts(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.prepareLoad()
	s.exec(`INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until) VALUES ('LOAD', 'SMS', 'PUSH', '1 hour', 'DELIVERED')`)
	w := s.startWorker()
	s.starter("poller", "start")
	s.writeEvents("r", 1)
	event := s.eventID("r", 0)
	mail, text := event+"-customer1-EMAIL", event+"-customer1-SMS"
	s.awaitDelivery(mail, "SENT")
	s.awaitDelivery(text, "SENT")
	w.kill()

	bounce := notification.Receipt{Provider: notification.SendGrid, ID: "bounce", DeliveryID: mail, At: time.Now(), Word: "bounce", Detail: "550 no such mailbox", Status: notification.Failed}
	s.record(bounce, notification.Receipt{Provider: notification.Twilio, ID: "delivered", DeliveryID: text, At: time.Now(), Word: "delivered", Status: notification.Delivered})
	require.Equal(t, 2, s.count(`SELECT count(*) FROM delivery_follow_up`))
	require.Regexp(t, `follow-ups +2 wait`, s.starter("status"))

	w = s.startWorker()
	s.awaitCount(0, `SELECT count(*) FROM delivery_follow_up`)
	require.NoError(t, s.temporal.GetWorkflow(t.Context(), workflows.EscalationID(text), "").Get(t.Context(), nil))
	s.awaitSuccess(event)
	letters := s.take("notification.dead-letter")
	require.Len(t, letters, 1)
	require.Contains(t, string(letters[0].Body), `"delivery_id":"`+mail+`"`)
	require.Contains(t, string(letters[0].Body), "bounced: 550 no such mailbox")

	// A worker starts what somebody terminated.
	require.NoError(t, s.temporal.TerminateWorkflow(t.Context(), workflows.FollowUpID(s.name), "", "test"))
	s.record(bounce, notification.Receipt{Provider: notification.Twilio, ID: "undelivered", DeliveryID: text, At: time.Now(), Word: "undelivered", Detail: "30005", Status: notification.Failed})
	s.awaitCount(0, `SELECT count(*) FROM delivery_follow_up`)
	letters = s.take("notification.dead-letter")
	require.Len(t, letters, 1, "of the text alone: the mail's failure was told")
	require.Contains(t, string(letters[0].Body), `"delivery_id":"`+text+`"`)

	require.Contains(t, s.starter("delivery", "list", "--status", "failed"), "bounced: 550 no such mailbox")
	require.Regexp(t, `sendgrid +bounce +FAILED +550 no such mailbox`, s.starter("delivery", "show", mail))
	require.Contains(t, s.starter("delivery", "why", mail), "said later that it did not arrive")
	require.Regexp(t, `deliveries +1 SENT, 2 FAILED`, s.starter("event", "show", event))
	require.NotContains(t, s.starter("status"), "follow-ups")
	require.Contains(t, s.starter("delivery", "retry", mail), "sent")
	s.awaitDelivery(mail, "SENT")
	require.NoError(t, w.stop())
}

// record stores receipts as a gateway does.
func (s *system) record(receipts ...notification.Receipt) {
	s.t.Helper()
	_, err := s.store.RecordReceipts(s.t.Context(), receipts)
	require.NoError(s.t, err)
}
