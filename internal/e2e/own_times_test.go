package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Reminders a day before visits: one that is nearly due, some for years to come, one
// whose time is past, and one whose visit has no zone.
func TestReminders(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(`INSERT INTO recipient (user_type, user_id, email, timezone) VALUES ('CUSTOMER', '42', 'ada@example.com', 'Europe/Rome')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path, send_before, skip_if_past)
	        VALUES ('VISIT', 'EMAIL', 'DELAYED', 'visit.startsAt', '24 hours', true)`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('VISIT', 'Your visit', '{{.payload.visit.startsAt}}')`)
	s.startWorker()
	s.starter("poller", "start")
	visit := func(name, startsAt string) (event, reminder string) {
		event = s.emit(s.name+"-"+name, "VISIT", "CUSTOMER/42", fmt.Sprintf(`{"visit":{"startsAt":%q}}`, startsAt))
		return event, event + "-customer42-EMAIL"
	}
	const waits = "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND send_after = $2"
	rome := time.FixedZone("", 3600)
	due := time.Now().Add(5 * time.Second).Truncate(time.Second)
	years := time.Now().AddDate(9, 0, 0).Truncate(time.Second)

	_, soon := visit("soon", due.Add(24*time.Hour).In(rome).Format(time.RFC3339))
	_, hastened := visit("hastened", years.Format(time.RFC3339))
	_, moved := visit("moved", years.Format(time.RFC3339))
	past, never := visit("past", time.Now().Add(23*time.Hour).Format(time.RFC3339))
	malformed, failed := visit("malformed", "2026-11-23T09:30:00")

	for _, id := range []string{hastened, moved} {
		s.awaitCount(1, waits, id, years.Add(-24*time.Hour))
	}
	require.Contains(t, s.starter("delivery", "why", moved), "DELAYED until 24h0m0s before visit.startsAt")
	s.orders("send-now", hastened)
	s.orders("reschedule", moved, "--in", "1s")
	for _, id := range []string{soon, hastened, moved} {
		s.awaitDelivery(id, "SENT")
	}
	require.Zero(t, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND sent_at < $2", soon, due), "it was sent too early")

	s.awaitSuccess(past, malformed)
	require.Contains(t, s.starter("event", "show", past), "SKIPPED")
	why := s.starter("delivery", "why", "--event", past, "--recipient", "customer/42", "--channel", "email")
	require.Contains(t, why, "was past when the event was planned")
	require.Zero(t, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1", never))
	s.awaitDelivery(failed, "FAILED")
	require.Contains(t, s.starter("delivery", "show", failed), "visit.startsAt is not a time with a zone")
	require.Len(t, s.accepted(), 3)
}

// A reminder whose text fails ends at once, though its time is years ahead. Once that is
// mended, or after it was cancelled, a retry waits for its time again.
func TestRetriedReminderWaits(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	s.exec(`INSERT INTO recipient (user_type, user_id, email) VALUES ('CUSTOMER', '42', 'ada@example.com')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path) VALUES ('VISIT', 'EMAIL', 'DELAYED', 'startsAt')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('VISIT', 'Your visit', '{{.payload.room}}')`)
	s.startWorker()
	s.starter("poller", "start")
	years := time.Now().AddDate(5, 0, 0).UTC().Truncate(time.Second)
	event := s.emit(s.name, "VISIT", "CUSTOMER/42", fmt.Sprintf(`{"startsAt":%q}`, years.Format(time.RFC3339)))
	id := event + "-customer42-EMAIL"
	s.awaitSuccess(event)
	s.awaitDelivery(id, "FAILED")
	s.exec(`UPDATE notification_template SET body = '{{.payload.startsAt}}' WHERE event_type = 'VISIT'`)

	const waits = "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'PENDING' AND send_after = $2"
	for range 2 {
		require.Contains(t, s.starter("delivery", "retry", id), "waits until its own time")
		s.awaitCount(1, waits, id, years)
		s.eventually(func() bool {
			return strings.Contains(s.starter("delivery", "why", id), "it waits until "+years.Format("2006-01-02"))
		}, "%s does not wait", id)
		s.orders("cancel", id)
		s.awaitDelivery(id, "CANCELLED")
		require.Contains(t, s.starter("delivery", "why", id), "waits until its own time, "+years.Format("2006-01-02"))
	}
	s.starter("delivery", "retry", id, "--no-wait")
	s.orders("send-now", id)
	s.awaitDelivery(id, "SENT")
	require.Len(t, s.accepted(), 1)
}

// orders carries out an operator's order about a delivery, as soon as its workflow runs.
func (s *system) orders(verb, id string, flags ...string) {
	s.t.Helper()
	var out string
	s.eventually(func() bool {
		var err error
		out, err = s.tryStarter(append([]string{"delivery", verb, id}, flags...)...)
		return err == nil
	}, "%s of %s is refused: %s", verb, id, out)
}
