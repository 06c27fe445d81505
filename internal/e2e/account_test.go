package e2e_test

import (
	"strings"
	"testing"
)

// A provider rejects our credentials. Once they are right, the deliveries that waited are
// made, even where the policy allows one attempt.
func TestAccountRejected(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_MAX_ATTEMPTS=1")
	s.exec(`INSERT INTO recipient (user_type, user_id, email) VALUES ('CUSTOMER', '42', 'ada@example.com')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('T', 'hello', 'you')`)
	s.fault("EMAIL", `{"status":401}`)
	s.startWorker()
	s.starter("poller", "start")
	id := s.emit(s.name+"-evt", "T", "CUSTOMER/42", "{}") + "-customer42-EMAIL"
	var answer string
	s.eventually(func() bool {
		answer, _ = s.tryStarter("delivery", "why", id)
		return strings.Contains(answer, "the provider rejects our account: it is tried once a minute, next at ")
	}, "why does not say that our account is rejected: %s", answer)

	s.mend()
	s.starter("delivery", "send-now", id)

	s.awaitDelivery(id, "SENT")
}
