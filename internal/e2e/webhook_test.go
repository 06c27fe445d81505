package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// A receiver takes a message, but its answer is lost. The retry has the same id, so the receiver ignores
// it. Another receiver answers 410, and gets nothing more. Then the e-mail provider rejects our account.
func TestWebhook(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=1")
	s.fill(postgrestest.Route{EventType: "NEWS", Channel: notification.Webhook}, postgrestest.Template{Title: "News", Body: "Hello"})
	s.fill(
		postgrestest.Recipient{UserID: "1", Webhook: s.sandbox.URL + "/hooks/one"},
		postgrestest.Recipient{UserID: "2", Webhook: s.sandbox.URL + "/hooks/gone"})
	s.startAll("--events", "--channels", "webhook,email")

	s.fault("webhook", `{"drop":"after"}`)
	id := s.emit(s.name+"-a", "NEWS", "CUSTOMER/1", "{}") + "-customer1-WEBHOOK"
	s.awaitCount(1, `SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1 AND attempt = 1 AND outcome = 'AMBIGUOUS'`, id)
	s.mend()
	s.awaitDelivery(id, "SENT")
	var repeats []bool
	for _, m := range s.messages() {
		require.Equal(t, id, m.DeliveryID)
		require.Equal(t, "Hello", m.Body)
		require.True(t, m.Accepted)
		repeats = append(repeats, m.Repeat)
	}
	require.Greater(t, len(repeats), 1)
	for i, repeat := range repeats {
		require.Equal(t, i > 0, repeat)
	}

	gone := s.emit(s.name+"-b", "NEWS", "CUSTOMER/2", "{}") + "-customer2-WEBHOOK"
	s.awaitDelivery(gone, "FAILED")
	s.requireDelivery(gone, "FAILED", "webhook refused: 410")
	s.awaitCount(1, `SELECT count(*) FROM recipient_suppression WHERE channel = 'WEBHOOK' AND reason = 'INVALID'`)
	s.awaitCount(1, `SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1`, gone)
	later := s.emit(s.name+"-c", "NEWS", "CUSTOMER/2", "{}")
	s.awaitCount(1, `SELECT count(*) FROM notification_decision WHERE event_id = $1 AND channels ->> 'WEBHOOK' = $2`, later,
		string(notification.DecisionSuppressed))
	s.accountIsRejected()
}

// A provider rejects our credentials. After they are corrected, the waiting deliveries are sent,
// even if the policy allows only one attempt.
func (s *system) accountIsRejected() {
	s.exec(`UPDATE recipient SET email = 'one@example.com' WHERE user_id = '1'`)
	s.route("T", "EMAIL")
	s.fault("EMAIL", `{"status":401}`)
	id := s.emit(s.name+"-evt", "T", "CUSTOMER/1", "{}") + "-customer1-EMAIL"
	var answer string
	s.eventually(func() bool {
		answer, _ = s.tryStarter("delivery", "why", id)
		return strings.Contains(answer, "the provider rejects our account: it is tried once a minute, next at ")
	}, "why does not say that our account is rejected: %s", answer)

	s.mend()
	s.starter("delivery", "send-now", id)

	s.awaitDelivery(id, "SENT")
}
