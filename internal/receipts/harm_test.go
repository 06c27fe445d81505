package receipts_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/limit"
	"herald/internal/notification"
)

// Spam reports, bounces and blocks that providers post count against the sender of the messages.
func TestReceiptsCountAgainstTheSender(t *testing.T) {
	t.Parallel()

	r := newRoom(t)
	body := ""
	for i := range 3 {
		id := r.sent(notification.Email, "ada@example.com", fmt.Sprint("m", i))
		postgrestest.Exec(t, r.store, "UPDATE notification SET user_id = $2, provider = 'sendgrid' WHERE delivery_id = $1", id, fmt.Sprint(i))
		postgrestest.Add(t, r.store.Pool, postgrestest.Attempt{DeliveryID: id, Outcome: notification.OutcomeSent})
		body += fmt.Sprintf(`{"event":%q,"email":"ada@example.com","sg_event_id":"e%d","sg_message_id":"m%d.x","delivery_id":%q,`+
			`"timestamp":%d,"type":"bounce","status":"5.1.1"},`, []string{"delivered", "spamreport", "bounce"}[i], i, i, id, time.Now().Unix())
	}
	require.Equal(t, http.StatusNoContent, r.sendgrid("["+body[:len(body)-1]+"]"))
	for i, code := range []string{"", "30007"} {
		message := fmt.Sprint("SM", i)
		id := r.sent(notification.SMS, number, message)
		postgrestest.Exec(t, r.store, "UPDATE notification SET user_id = $2, provider = 'twilio' WHERE delivery_id = $1", id, message)
		postgrestest.Add(t, r.store.Pool, postgrestest.Attempt{DeliveryID: id, Outcome: notification.OutcomeSent})
		require.Equal(t, http.StatusNoContent, r.status(id, message, []string{"sent", "undelivered"}[i], code))
	}
	postgrestest.Exec(t, r.store, "UPDATE delivery_attempt SET sender = 'us'")
	postgrestest.Exec(t, r.store, "UPDATE delivery_receipt SET received_at = received_at - interval '2 minutes'")

	after := time.Now().Add(-time.Hour)
	_, _, err := limit.On(r.store).CountReceipts(t.Context(), &after)
	require.NoError(t, err)
	require.NoError(t, limit.On(r.store).JudgeSenders(t.Context()))
	require.Equal(t, []string{"sendgrid us 3 1 1 0", "twilio us 2 0 0 1"}, r.texts(
		"SELECT concat_ws(' ', provider, sender, recipients, complaints, bounces, blocks) FROM sender_state ORDER BY provider"))
}
