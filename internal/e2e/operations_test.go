package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/temporalproto"

	"herald/tools/rig"
)

// TestOperations runs every command of docs/operations.md in order and compares its output with
// the document. It ignores texts that change with each run: times, run ids, time zones, progress.
//
// To update the document: go test ./internal/e2e -run TestOperations -write-docs
func TestOperations(t *testing.T) {
	t.Parallel()

	document := readDocument(t, "docs/operations.md")
	n := newNightShift(t)
	prepared := 0
	for i, part := range document.parts {
		switch {
		case part.heading != "":
			prepare, known := situations[part.heading]
			require.True(t, known, "no preparation for %q", part.heading)
			prepare(n)
			prepared++
		case part.command != "":
			document.parts[i].output = n.expectOutput(part)
		}
	}
	require.Len(t, situations, prepared, "a preparation without a situation")
	document.write(t)
}

// nightShift is the installation of docs/operations.md. Its events are night-1, night-2 ….
type nightShift struct {
	*desk
}

func newNightShift(t *testing.T) *nightShift {
	t.Helper()
	n := &nightShift{newDesk(t, "night")}
	n.starter("seed", "--slack-url", n.sandbox.URL)
	n.exec(nightDirectory)
	n.exec(`UPDATE recipient SET timezone = $1 WHERE user_type = 'CUSTOMER' AND user_id = '46'`, nightZone(t, time.Now()))
	n.startAll()
	return n
}

// nightDirectory adds the document's people and rules to the example: a restaurant with a staff of 120,
// event types, and a customer with quiet hours at night.
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

	INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start,
	       quiet_hours_end)
	VALUES ('CUSTOMER', '42', 'SMS', false, false, NULL, NULL);

	UPDATE user_notification_preferences
	SET    quiet_hours_start = '22:00',
	       quiet_hours_end   = '08:00'
	WHERE  user_type = 'CUSTOMER'
	AND    user_id = '46'
	AND    channel_type = 'PUSH'`

// nightZones are spread around the globe, so that it is always night in one of these zones.
var nightZones = []string{
	"Europe/Rome", "America/New_York", "America/Los_Angeles", "Asia/Tokyo", "Asia/Kolkata", "Pacific/Auckland", "Pacific/Honolulu",
	"America/Sao_Paulo", "Africa/Abidjan",
}

// nightZone returns a zone where it is after midnight and not near morning.
func nightZone(t *testing.T, now time.Time) string {
	for _, name := range nightZones {
		zone := must(time.LoadLocation(name))(t)
		there := now.In(zone)
		since := time.Duration(there.Hour())*time.Hour + time.Duration(there.Minute())*time.Minute
		if since >= 20*time.Minute && since < 5*time.Hour {
			return name
		}
	}
	t.Fatal("no zone has night now")
	return ""
}

// emit writes an event like a business service.
func (n *nightShift) emit(id, eventType, aggregate, payload string) {
	n.t.Helper()
	n.system.emit(n.own(id), eventType, aggregate, payload)
}

// situations holds a function for each situation of docs/operations.md. It prepares the situation
// before the operator's commands run.
var situations = map[string]func(n *nightShift){
	"1. Customer 42 got no text message": func(n *nightShift) {
		n.confirm("night-1", 42)
		n.confirm("night-2", 43)
		n.awaitSuccess(n.own("night-1"), n.own("night-2"))
	},
	"2. An address is wrong": func(n *nightShift) {
		n.confirm("night-3", 45)
		n.awaitSuccess(n.own("night-3"))
	},
	"3. Many e-mails failed while the provider was out": func(n *nightShift) {
		n.starter("channel", "use", "sendgrid")
		n.fault("email", fmt.Sprintf(`{"status": %d}`, http.StatusServiceUnavailable))
		n.emit("night-4", "SHIFT_PLANNED", "RESTAURANT/9", `{"week": 48}`)
		n.awaitDeliveries(n.own("night-4"), "FAILED", 120)
		n.awaitSuccess(n.own("night-4"))
		n.starter("channel", "resume", "sendgrid")
		n.mend()
	},
	"4. A reminder waits for the morning, but must not": func(n *nightShift) {
		n.remind("night-5", "night-6")
	},
	"5. A message must not go out": func(n *nightShift) {
		n.remind("night-7")
	},
	"6. A whole event was a mistake": func(n *nightShift) {
		n.emit("night-8", "SPECIAL_OFFER", "RESTAURANT/5", `{"discount": 90}`)
		n.awaitDeliveries(n.own("night-8"), "SENT", 2)
		n.awaitDeliveries(n.own("night-8"), "PENDING", 2)
	},
	"7. An event is FAILED in the outbox": func(n *nightShift) {
		n.exec(`INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, attempt_count)
			VALUES ($1, 'SHIFT_PLANNED', 'RESTAURANT', '5', '{"week": 49}', 10)`, n.own("night-9"))
	},
	"8. Maintenance: nothing new may start for an hour": func(n *nightShift) {
		n.awaitSuccess(n.own("night-9"))
	},
	"9. Customer 42 waits for a digest": func(n *nightShift) {
		n.awaitSuccess(n.own("night-10"))
		for _, id := range []string{"night-11", "night-12", "night-13"} {
			n.emit(id, "POINTS_EARNED", "CUSTOMER/42", `{"points": 20}`)
			n.awaitDeliveries(n.own(id), "PENDING", 1) // one after another, for the order of the list
		}
	},
	"10. Before a release, and the tables grow": func(n *nightShift) {
		n.confirm("night-14", 47)
		n.awaitSuccess(n.own("night-14"))
		history := n.history("night-14-customer47-SMS")
		n.save("night-14.json", history)
		n.save("other-build.json", strings.ReplaceAll(history, `"name":"GiveUp"`, `"name":"RecordFailure"`))
		n.age("40 days", "night-1", "night-2")
	},
	"11. An event told nobody": func(n *nightShift) {
		n.emit("night-15", "TABLE_MOVED", "CUSTOMER/42", `{"table": 9}`)
		n.awaitSuccess(n.own("night-15"))
	},
	"12. An address gets nothing any more": func(n *nightShift) {
		n.confirm("night-16", 47)
		n.awaitSuccess(n.own("night-16"))
	},
}

// confirm emits a confirmed reservation for a customer.
func (n *nightShift) confirm(id string, customer int) {
	n.t.Helper()
	n.emit(id, "RESERVATION_CONFIRMED", "RESERVATION/100", fmt.Sprintf(
		`{"restaurantId": 7, "customer": {"id": %d}, "pax": 4, "date": "2026-12-20", "time": "19:30"}`, customer))
}

// remind emits reminders for customer 46. It is night in their time zone, so the push message waits. The
// e-mail does not.
func (n *nightShift) remind(ids ...string) {
	n.t.Helper()
	for _, id := range ids {
		n.emit(id, "RESERVATION_REMINDER", "RESERVATION/105", `{"customer": {"id": 46}, "pax": 2, "time": "20:00"}`)
		n.awaitDeliveries(n.own(id), "SENT", 1)
		n.awaitDeliveries(n.own(id), "PENDING", 1)
	}
}

// history returns a workflow's history in the JSON of the temporal CLI and the Web UI.
func (n *nightShift) history(id string) string {
	n.t.Helper()
	return n.historyJSON(n.own(id))
}

func (s *system) historyJSON(id string) string {
	s.t.Helper()
	return string(must(temporalproto.CustomJSONMarshalOptions{}.Marshal(s.history(id)))(s.t))
}

// save writes a file into the folder of the operator's shell.
func (n *nightShift) save(name, text string) {
	n.t.Helper()
	require.NoError(n.t, os.WriteFile(filepath.Join(n.dir, n.own(name)), []byte(text), 0o600))
}

// age makes events and their rows in other tables older.
func (n *nightShift) age(by string, ids ...string) {
	n.t.Helper()
	for _, column := range []string{
		"event_outbox.created_at", "processed_event.created_at", "processed_event.updated_at", "notification.created_at", "notification.sent_at",
		"notification_decision.decided_at",
	} {
		table, column, _ := strings.Cut(column, ".")
		for _, id := range ids {
			n.exec(fmt.Sprintf(`UPDATE %[1]s SET %[2]s = %[2]s - $1::text::interval WHERE event_id = $2`, table, column), by, n.own(id))
		}
	}
}

// TestYourOwn follows docs/your-own.md like a newcomer, from an empty database, and compares the
// output of the commands with the document.
//
// To update the document: go test ./internal/e2e -run TestYourOwn -write-docs
func TestYourOwn(t *testing.T) {
	t.Parallel()

	n := newNewcomer(t)
	document := readDocument(t, "docs/your-own.md")
	for i, part := range document.parts {
		switch part.language {
		case "console":
			document.parts[i].output = n.expectOutput(part)
		case "sh":
			n.reader.shell(n.before + n.own(part.text))
		case "sql":
			n.exec(n.own(part.text))
		}
	}
	document.write(t)
}

// newcomer is the reader of docs/your-own.md. Later commands have the variables that earlier
// commands exported.
type newcomer struct {
	*desk
	reader *reader
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{desk: newDesk(t, "clinic")}
	n.exec("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	n.more = [2]string{"127.0.0.1:9090", must(rig.FreeAddress())(t)}
	n.before = "[ ! -e exports ] || . ./exports; trap 'export -p > exports' EXIT\n"
	n.env = append(n.env, "WORKER_HTTP_ADDR=127.0.0.1:0")
	n.reader = n.system.reader(n.dir)
	return n
}
