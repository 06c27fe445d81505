package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMissingSettings runs a worker without SendGrid's settings, and with a Slack host that
// it may not call, and reads what the failures say.
func TestMissingSettings(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "SENDGRID_API_KEY=", "EMAIL_FROM=", "SLACK_ALLOWED_HOSTS=hooks.slack.com", "PUBLIC_URL=https://herald.example.com")
	s.exec(`INSERT INTO recipient (user_type, user_id, email, slack_webhook_url) VALUES ('ADMIN', '1', 'ada@example.com', 'https://chat.example.com/services/T/B/hunter2')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('T', 'EMAIL'), ('T', 'SLACK')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('T', 'hello', 'you')`)
	w := s.startWorker()
	for _, fact := range []string{"channel is off", "EMAIL", "SENDGRID_API_KEY", "EMAIL_FROM"} {
		require.Contains(t, w.output.String(), fact, "at its start")
	}
	s.starter("poller", "start")
	event := s.emit(s.name+"-evt", "T", "ADMIN/1", "{}")
	s.awaitSuccess(event)

	tells := map[string][]string{
		"EMAIL": {"EMAIL is not configured", "SENDGRID_API_KEY, EMAIL_FROM are not set", "nobody was asked", "Set what the last error names for the workers that serve EMAIL"},
		"SLACK": {"slack was not asked", "SLACK_ALLOWED_HOSTS", "Correct what the last error names"},
	}
	for channel, facts := range tells {
		id := event + "-admin1-" + channel
		s.awaitDelivery(id, "FAILED")
		why := s.starter("delivery", "why", id)
		for _, fact := range facts {
			require.Contains(t, why, fact)
		}
		require.NotContains(t, why+w.output.String(), "hunter2")
	}
	require.Equal(t, 1, s.count(`SELECT count(*) FROM notification WHERE last_error LIKE '%EMAIL_FROM%'`))
}
