package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// nightShift is the installation of docs/operations.md, whose events are night-1, night-2 ….
type nightShift struct {
	*desk
}

func newNightShift(t *testing.T) *nightShift {
	t.Helper()
	n := &nightShift{newDesk(t, "night")}
	n.starter("migrate", "up")
	n.starter("seed", "--slack-url", n.sandbox.URL)
	n.exec(nightDirectory)
	n.exec(`UPDATE recipient SET timezone = $1 WHERE user_type = 'CUSTOMER' AND user_id = '46'`, nightZone(t, time.Now()))
	n.startWorker()
	n.starter("poller", "start")
	return n
}

// nightDirectory is what the document adds to the example: a restaurant with a staff of
// 120, event types, and a customer with quiet hours at night.
const nightDirectory = `
	INSERT INTO recipient (user_type, user_id, name, email, locale, timezone, active)
	SELECT 'RESTAURANT_USER', n::text, 'Staff ' || n, 'staff' || n || '@chain.example.com', 'en', 'UTC', true
	FROM   generate_series(1001, 1120) AS n;

	INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role, active)
	SELECT 'RESTAURANT', '9', 'RESTAURANT_USER', n::text, 'WAITER', true
	FROM   generate_series(1001, 1120) AS n;

	INSERT INTO recipient (user_type, user_id, name, email, phone, locale, timezone, active)
	VALUES ('CUSTOMER', '47', 'Land Line', 'line@example.com', '+15005550009', 'en', 'UTC', true);

	INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, digest_window)
	VALUES ('SHIFT_PLANNED', 'EMAIL', 'IMMEDIATE', '0', '5 minutes'),
	       ('SPECIAL_OFFER', 'EMAIL', 'IMMEDIATE', '0', '5 minutes'),
	       ('SPECIAL_OFFER', 'PUSH', 'DELAYED', '1 hour', '5 minutes'),
	       ('POINTS_EARNED', 'EMAIL', 'AGGREGATE', '0', '1 hour');

	INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
	VALUES ('CUSTOMER', '42', 'SMS', false, false, NULL, NULL);

	UPDATE user_notification_preferences
	SET    quiet_hours_start = '22:00',
	       quiet_hours_end   = '08:00'
	WHERE  user_type = 'CUSTOMER'
	AND    user_id = '46'
	AND    channel_type = 'PUSH'`

// nightZones are spread around the globe, so that it is always night in one of them.
var nightZones = []string{
	"Europe/Rome", "America/New_York", "America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Honolulu", "America/Sao_Paulo", "Africa/Abidjan",
}

// nightZone returns a zone where it is after midnight and long before morning.
func nightZone(t *testing.T, now time.Time) string {
	for _, name := range nightZones {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		there := now.In(zone)
		since := time.Duration(there.Hour())*time.Hour + time.Duration(there.Minute())*time.Minute
		if since >= 20*time.Minute && since < 5*time.Hour {
			return name
		}
	}
	t.Fatal("it is night nowhere")
	return ""
}

// emit writes an event as a business service would.
func (n *nightShift) emit(id, eventType, aggregate, payload string) {
	n.t.Helper()
	n.system.emit(n.own(id), eventType, aggregate, payload)
}
