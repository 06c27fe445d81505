package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWhy explains the deliveries of one event: between two attempts, under way, in quiet
// hours, in a digest, and not planned.
func TestWhy(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "EMAIL_RETRY_INTERVAL=10m", "SMS_TIMEOUT=1m")
	s.exec(`INSERT INTO recipient (user_type, user_id, email, phone, slack_webhook_url, timezone)
	        VALUES ('CUSTOMER', '42', 'ada@example.com', '+12025550142', NULL, 'Europe/Rome')`)
	s.exec(`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('CUSTOMER', '42', 'device-42')`)
	s.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
	        VALUES ('CUSTOMER', '42', 'PUSH', true, '00:00:01', '00:00')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, quiet_hours_action)
	        VALUES ('T', 'EMAIL', 'IMMEDIATE', '5 minutes', 'DROP'), ('T', 'SMS', 'IMMEDIATE', '5 minutes', 'DROP'), ('T', 'SLACK', 'IMMEDIATE', '5 minutes', 'DROP'),
	               ('T', 'PUSH', 'IMMEDIATE', '5 minutes', 'DEFER'), ('T', 'WEBSOCKET', 'AGGREGATE', '1 hour', 'DROP')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('T', 'hello', 'you')`)
	s.fault("EMAIL", `{"status":503}`)
	s.fault("SMS", `{"latency":"50s"}`)
	s.startWorker()
	s.starter("poller", "start")
	event := s.emit(s.name+"-evt", "T", "CUSTOMER/42", "{}")
	why := func(channel string) string { return s.starter("delivery", "why", event+"-customer42-"+channel) }
	// says waits for an answer that contains all wanted texts.
	says := func(channel string, wanted ...string) {
		var answer string
		s.awaitCount(1, "SELECT count(*) FROM notification WHERE channel = $1", channel)
		missing := func(text string) bool { return !strings.Contains(answer, text) }
		s.eventually(func() bool {
			answer = why(channel)
			return !slices.ContainsFunc(wanted, missing)
		}, "why %s does not say %q", channel, wanted)
		require.NotContains(t, answer, "ada@example.com")
		require.NotContains(t, answer, "+12025550142")
	}

	says("EMAIL", "the next attempt is due at ", ", attempt 2 of 3. `starter delivery send-now", "AMBIGUOUS  503   sendgrid gave no clear answer: 503")
	says("SMS", "attempt 1 of 3 is under way, since ", "-        -     under way")
	says("PUSH", "it waits until ", "Europe/Rome: quiet hours. `starter delivery send-now", "quiet hours  00:00:01-00:00 Europe/Rome, it is ")
	says("WEBSOCKET", "it is sent in its digest "+s.name+"-digest-customer42-WEBSOCKET-T, which says: 1 of at most 100 joined", "AGGREGATE over 1h0m0s")
	slack := s.starter("delivery", "why", "--event", event, "--recipient", "customer/42", "--channel", "slack")
	require.Contains(t, slack, "UNSUPPORTED", slack)
	require.Contains(t, slack, "SLACK may not serve a recipient of type CUSTOMER")
	show := s.starter("delivery", "show", event+"-customer42-EMAIL")
	require.Regexp(t, "task queue +"+s.name+"-email, workers: 1", show)
	require.Regexp(t, "it says +waiting until .*: the attempt before failed, and the next one is due then", show)
}
