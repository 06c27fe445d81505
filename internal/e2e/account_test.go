package e2e_test

import (
	"strings"
	"testing"
	"time"
)

// TestAccountRejected mends credentials that a provider rejects: the deliveries that
// waited for it are made, also where the policy allows one attempt.
func TestAccountRejected(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=1")
	s.exec(`INSERT INTO recipient (user_type, user_id, email) VALUES ('CUSTOMER', '42', 'ada@example.com')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('T', 'hello', 'you')`)
	s.fault("EMAIL", `{"status":401}`)
	s.startWorker()
	s.starter("poller", "start")
	event := s.name + "-evt"
	id := event + "-customer42-EMAIL"
	s.starter("emit", "--type", "T", "--aggregate-type", "CUSTOMER", "--aggregate-id", "42", "--payload", "{}", "--event-id", event)
	var answer string
	s.eventually(time.Minute, func() bool {
		answer, _ = s.tryStarter("delivery", "why", id)
		return strings.Contains(answer, "the provider rejects our account: it is tried once a minute, next at ")
	}, "why does not say that our account is rejected: %s", answer)

	s.mend()
	s.starter("delivery", "send-now", id)

	s.eventually(time.Minute, func() bool {
		return s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'SENT'", id) == 1
	}, "it was not sent")
}
