package e2e_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// People leave, opt out and move while their deliveries wait: for a delay, in a digest,
// or until a time that an operator set.
func TestAfterAWait(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(`INSERT INTO recipient (user_type, user_id, email)
	        SELECT 'RESTAURANT_USER', i::text, format('ada%s@example.com', i) FROM generate_series(1, 5) AS i`)
	s.exec(`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
	        SELECT 'RESTAURANT', r::text, 'RESTAURANT_USER', i::text, 'CHEF' FROM generate_series(1, 5) AS i, generate_series(5, 6) AS r`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, digest_window)
	        VALUES ('LATER', 'EMAIL', 'DELAYED', '1 hour', '5 minutes'), ('NEWS', 'EMAIL', 'AGGREGATE', '0', '1 hour')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('*', 'news of {{.payload.of}}', 'news')`)
	s.startWorker()
	s.starter("poller", "start")
	emit := func(eventType string, restaurant int) string {
		return s.emit(fmt.Sprintf("%s-%s-%d", s.name, eventType, restaurant), eventType, fmt.Sprintf("RESTAURANT/%d", restaurant), fmt.Sprintf(`{"of":%d}`, restaurant))
	}
	mail := func(event string, staff int) string { return fmt.Sprintf("%s-staff%d-EMAIL", event, staff) }
	later, five, six := emit("LATER", 5), emit("NEWS", 5), emit("NEWS", 6)
	s.awaitCount(15, "SELECT count(*) FROM notification")

	s.exec("DELETE FROM entity_member WHERE user_id = '1' AND entity_id = '5'") // left one restaurant of two
	s.exec("INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('RESTAURANT_USER', '2', 'EMAIL', false)")
	s.exec("UPDATE recipient SET active = false WHERE user_id = '3'")
	s.exec("UPDATE recipient SET email = 'moved@example.com' WHERE user_id = '4'")
	for staff := 1; staff <= 5; staff++ {
		for _, event := range []string{later, five} { // the digest lists the news of both
			var out string
			s.eventually(func() (ok bool) {
				var err error
				out, err = s.tryStarter("delivery", "reschedule", mail(event, staff), "--in", "1s")
				return err == nil
			}, "%s cannot be rescheduled: %s", mail(event, staff), out)
		}
	}

	const gone, off = "no longer a recipient", "USER_DISABLED"
	ends := map[int][3]string{ // why not; empty: sent
		1: {gone, gone, ""}, 2: {off, off, off}, 3: {gone, gone, gone}, 4: {}, 5: {},
	}
	for staff, reasons := range ends {
		for i, event := range []string{later, five, six} {
			id, status := mail(event, staff), "SENT"
			if reasons[i] != "" {
				status = "CANCELLED"
			}
			s.awaitCount(1, "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = $2 AND coalesce(last_error, '') = $3", id, status, reasons[i])
			require.Equal(t, status == "SENT", s.count("SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1", id) == 1)
		}
	}
	require.Equal(t, 3, s.count("SELECT count(*) FROM notification WHERE recipient_address = 'moved@example.com' AND status = 'SENT'"))
	require.Contains(t, s.starter("delivery", "why", mail(later, 2)), "the recipient had switched EMAIL off")
	s.awaitCount(3, "SELECT count(*) FROM processed_event WHERE status = 'SUCCESS'")
	require.Len(t, s.accepted(), 5, "two that were rescheduled, and three digests")
}
