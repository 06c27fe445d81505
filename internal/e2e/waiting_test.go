package e2e_test

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
)

// Reminders a day before visits: a reminder that is nearly due, some for later years, one in the
// past, and one for a visit without a time zone.
func (s *system) reminders() {
	s.fill(
		postgrestest.Recipient{Email: "ada@example.com", Timezone: "Europe/Rome"},
		postgrestest.Route{EventType: "VISIT", Strategy: notification.Delayed, SendAtPath: "visit.startsAt", SendBefore: "24 hours",
			SkipIfPast: true},
		postgrestest.Template{EventType: "VISIT", Title: "Your visit", Body: "{{.payload.visit.startsAt}}"})
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
	require.Contains(s.t, s.starter("delivery", "why", moved), "DELAYED until 24h0m0s before visit.startsAt")
	s.orders("send-now", hastened)
	s.orders("reschedule", moved, "--in", "1s")
	for _, id := range []string{soon, hastened, moved} {
		s.awaitDelivery(id, "SENT")
	}
	require.Zero(s.t, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1 AND sent_at < $2", soon, due), "it was sent too early")

	s.awaitSuccess(past, malformed)
	require.Contains(s.t, s.starter("event", "show", past), "SKIPPED")
	why := s.starter("delivery", "why", "--event", past, "--recipient", "customer/42", "--channel", "email")
	require.Contains(s.t, why, "was past when the event was planned")
	require.Zero(s.t, s.count("SELECT count(*) FROM notification WHERE delivery_id = $1", never))
	s.awaitDelivery(failed, "FAILED")
	require.Contains(s.t, s.starter("delivery", "show", failed), "visit.startsAt is not a time with a zone")
	require.Len(s.t, s.accepted(), 3)
}

// orders runs a command of `starter delivery` as soon as the delivery's workflow runs.
func (s *system) orders(verb, id string, flags ...string) {
	s.t.Helper()
	var out string
	s.eventually(func() bool {
		var err error
		out, err = s.tryStarter(append([]string{"delivery", verb, id}, flags...)...)
		return err == nil
	}, "%s of %s is refused: %s", verb, id, out)
}

// People leave, opt out and change their address while their deliveries wait: for a delay, in a
// digest, or until a time that an operator set.
func (s *system) afterAWait() {
	before := len(s.accepted())
	s.fillMany(5, postgrestest.Recipient{UserType: notification.RestaurantUser},
		postgrestest.Expressions{"user_id": "i", "email": "format('ada%s@example.com', i)"})
	for _, restaurant := range []string{"5", "6"} {
		s.fillMany(5, postgrestest.Member{EntityID: restaurant, Role: "CHEF"}, postgrestest.Expressions{"user_id": "i"})
	}
	s.fill(
		postgrestest.Route{EventType: "TOMORROW", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "NEWS", Strategy: notification.Aggregate, DigestWindow: time.Hour},
		postgrestest.Template{EventType: "TOMORROW", Title: "news of {{.payload.of}}", Body: "news"},
		postgrestest.Template{EventType: "NEWS", Title: "news of {{.payload.of}}", Body: "news"})
	emit := func(eventType string, restaurant int) string {
		return s.emit(fmt.Sprintf("%s-%s-%d", s.name, eventType, restaurant), eventType, fmt.Sprintf("RESTAURANT/%d", restaurant),
			fmt.Sprintf(`{"of":%d}`, restaurant))
	}
	mail := func(event string, staff int) string { return fmt.Sprintf("%s-staff%d-EMAIL", event, staff) }
	later, five, six := emit("TOMORROW", 5), emit("NEWS", 5), emit("NEWS", 6)
	s.awaitCount(15, "SELECT count(*) FROM notification WHERE event_type IN ('TOMORROW', 'NEWS')")

	s.exec("DELETE FROM entity_member WHERE user_id = '1' AND entity_id = '5'") // left one of two restaurants
	s.fill(postgrestest.Preference{UserID: "2", Off: true})
	s.exec("UPDATE recipient SET active = false WHERE user_id = '3'")
	s.exec("UPDATE recipient SET email = 'moved@example.com' WHERE user_id = '4'")
	for staff := 1; staff <= 5; staff++ {
		for _, event := range []string{later, five} { // the digest lists both events
			s.orders("reschedule", mail(event, staff), "--in", "1s")
		}
	}

	const gone, off = "NO_LONGER_RECIPIENT", "USER_DISABLED"
	ends := map[int][3]string{ // reason for not sending; empty: sent
		1: {gone, gone, ""}, 2: {off, off, off}, 3: {gone, gone, gone}, 4: {}, 5: {},
	}
	for staff, reasons := range ends {
		for i, event := range []string{later, five, six} {
			id, status := mail(event, staff), "SENT"
			if reasons[i] != "" {
				status = "CANCELLED"
			}
			s.awaitCount(1, "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = $2 AND coalesce(last_error, '') = $3", id,
				status, reasons[i])
			require.Equal(s.t, status == "SENT", s.count("SELECT count(*) FROM delivery_attempt WHERE delivery_id = $1", id) == 1)
		}
	}
	require.Equal(s.t, 3, s.count("SELECT count(*) FROM notification WHERE recipient_address = 'moved@example.com' AND status = 'SENT'"))
	require.Contains(s.t, s.starter("delivery", "why", mail(later, 2)), "the recipient had switched EMAIL off")
	s.awaitSuccess(later, five, six)
	require.Len(s.t, s.accepted(), before+5, "two rescheduled messages and three digests")
}

// Deliveries whose delay ends in quiet hours: `delivery why` and `delivery show` are correct
// before and after the end of the delay.
func (s *system) delayEndsInQuietHours() {
	s.fill(postgrestest.Recipient{UserID: "44", Email: "ada@example.com"})
	s.fillMany(1, postgrestest.Preference{UserType: notification.Customer, UserID: "44"}, postgrestest.Expressions{
		"quiet_hours_enabled": "true", "quiet_hours_start": "(now() AT TIME ZONE 'UTC' + interval '1 hour')::time(0)",
		"quiet_hours_end": "(now() AT TIME ZONE 'UTC' + interval '5 hours')::time(0)",
	})
	s.fill(
		postgrestest.Route{EventType: "DROPPED", Strategy: notification.Delayed, Delay: 2 * time.Hour},
		postgrestest.Route{EventType: "DEFERRED", Strategy: notification.Delayed, Delay: 2 * time.Hour, QuietHoursAction: notification.Defer},
		postgrestest.Template{EventType: "DROPPED", Title: "hello", Body: "you"},
		postgrestest.Template{EventType: "DEFERRED", Title: "hello", Body: "you"})
	end := s.deliveries(`SELECT to_char(quiet_hours_end, 'HH24:MI "UTC"') FROM user_notification_preferences WHERE user_id = '44'`)[0]
	then := map[string]string{"DROPPED": "it is dropped then", "DEFERRED": "it waits until then"}
	ids := map[string]string{}
	for eventType := range then {
		ids[eventType] = s.emit(s.name+"-"+eventType, eventType, "CUSTOMER/44", "{}") + "-customer44-EMAIL"
	}
	for eventType, id := range ids {
		s.says(id, "waiting until ", " UTC: delay", "that is in quiet hours until ", end, then[eventType])
		require.Contains(s.t, s.starter("delivery", "reschedule", id, "--in", "3h"), then[eventType])
		s.says(id, "rescheduled by an operator", "that is in quiet hours until ", end, then[eventType])
	}

	s.exec(`UPDATE user_notification_preferences SET quiet_hours_start = (now() AT TIME ZONE 'UTC' - interval '1 hour')::time(0) ` +
		`WHERE user_id = '44'`)
	for _, id := range ids {
		s.starter("delivery", "reschedule", id, "--in", "1s")
	}
	s.awaitDelivery(ids["DROPPED"], "CANCELLED")
	require.Contains(s.t, s.starter("delivery", "why", ids["DROPPED"]), "when it was due they or their entity had quiet hours")
	s.says(ids["DEFERRED"], ": quiet hours")
	s.awaitCount(1, `SELECT count(*) FROM notification WHERE delivery_id = $1 AND send_after > now() + interval '4 hours'`, ids["DEFERRED"])
}
