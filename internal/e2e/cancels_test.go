package e2e_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clinic is an installation whose visits go out over every kind of channel: at once, as
// a reminder, after quiet hours that hardly end, and in a digest. A visit that is called
// off is told at once.
func clinic(t *testing.T) *system {
	t.Helper()
	s := newSystem(t)
	s.exec(`INSERT INTO recipient (user_type, user_id, email, phone, timezone) VALUES ('CUSTOMER', '42', 'ada@example.com', '+12025550142', 'Europe/Rome')`)
	s.exec(`INSERT INTO recipient_device (user_type, user_id, token) VALUES ('CUSTOMER', '42', 'device-42')`)
	s.exec(`INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
	        VALUES ('CUSTOMER', '42', 'SMS', true, '00:00:01', '00:00')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_window, quiet_hours_action, send_at_path)
	        VALUES ('VISIT', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', 'DROP', NULL), ('VISIT', 'EMAIL', 'DELAYED', '5 minutes', 'DROP', 'at'),
	               ('VISIT', 'SMS', 'IMMEDIATE', '5 minutes', 'DEFER', NULL), ('VISIT', 'PUSH', 'AGGREGATE', '1 hour', 'DROP', NULL),
	               ('CALLED_OFF', 'WEBSOCKET', 'IMMEDIATE', '5 minutes', 'DROP', NULL)`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('*', 'visit', 'visit')`)
	s.starter("poller", "start")
	return s
}

func (s *system) visit(name string, at time.Time) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, "VISIT", "CUSTOMER/42", fmt.Sprintf(`{"at":%q}`, at.UTC().Format(time.RFC3339)))
}

// takesBack emits an event of a type that cancels another event.
func (s *system) takesBack(name, eventType, other string) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, eventType, "CUSTOMER/42", "{}", "--cancels", other)
}

// takenBack waits until an event and all of its deliveries have ended as cancelled by
// another, apart from so many that were sent.
func (s *system) takenBack(event, by string, cancelled, sent int) {
	s.t.Helper()
	s.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1 AND status = 'FAILED' AND outcome = 'CANCELLED'", event)
	require.Equal(s.t, cancelled, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'CANCELLED' AND last_error = $2", event, "cancelled by event "+by))
	require.Equal(s.t, sent, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'SENT'", event))
	require.Equal(s.t, cancelled+sent, s.count("SELECT count(*) FROM notification WHERE event_id = $1", event))
}

var nextYear = time.Now().AddDate(1, 0, 0)

// A visit waits as a reminder, for quiet hours and in a digest when it is called off.
func TestCancels(t *testing.T) {
	t.Parallel()

	s := clinic(t)
	s.startWorker()
	visit := s.visit("visit", nextYear)
	s.awaitDelivery(visit+"-customer42-WEBSOCKET", "SENT")
	for _, channel := range []string{"EMAIL", "SMS", "PUSH"} {
		id := visit + "-customer42-" + channel
		s.eventually(func() bool {
			_, err := s.temporal.DescribeWorkflowExecution(t.Context(), id, "")
			return err == nil
		}, "%s does not wait", id)
	}

	off := s.takesBack("off", "CALLED_OFF", visit)
	s.awaitSuccess(off)

	s.takenBack(visit, off, 3, 1)
	s.awaitDelivery(off+"-customer42-WEBSOCKET", "SENT")
	require.Contains(t, s.starter("event", "show", visit), "by event "+off+" at ")
	require.Contains(t, s.starter("event", "show", off), visit+": 3 cancelled; 1 sent, and stay sent")
	mail := visit + "-customer42-EMAIL"
	require.Contains(t, s.starter("delivery", "why", mail), "its event was cancelled by event "+off)
	s.fails(1, "cancelled by event "+off, "event", "retry", visit)
	s.fails(1, "its event was cancelled by event "+off, "delivery", "retry", mail)

	again := s.takesBack("again", "NOTHING", off) // what was taken back is not restored by that
	s.awaitSuccess(again)
	require.Contains(t, s.starter("event", "show", again), off+": 1 sent, and stay sent")
	require.Equal(t, 3, s.count("SELECT count(*) FROM notification WHERE event_id = $1 AND status = 'CANCELLED'", visit))
	require.Empty(t, s.accepted())

	require.Contains(t, s.starter("delivery", "retry", mail, "--again"), "waits until its own time")
	s.starter("delivery", "send-now", mail)
	s.awaitDelivery(mail, "SENT")
}

// The order in which a visit and its end are written, claimed and planned makes no
// difference, and neither does the type of what takes it back.
func TestCancelsInAnyOrder(t *testing.T) {
	t.Parallel()

	s := clinic(t)
	s.startWorker()
	early := s.takesBack("early-off", "NOTHING", s.name+"-early")
	s.awaitSuccess(early)
	require.Contains(t, s.starter("event", "show", early), s.name+"-early: no event of this id is known")
	s.visit("early", nextYear)

	s.starter("poller", "pause")
	const row = `($1 || '-%s', '%s', 'CUSTOMER', '42', '{"at": "2030-01-01T00:00:00Z"}', %s)`
	visit := func(name string) string { return fmt.Sprintf(row, name, "VISIT", "NULL") }
	off := func(name string) string { return fmt.Sprintf(row, name+"-off", "CALLED_OFF", "$1 || '-"+name+"'") }
	s.exec("INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, cancels) VALUES "+
		visit("first")+", "+off("first")+", "+off("second")+", "+visit("second")+", "+off("never"), s.name)
	poller := s.takesBack("poller-off", "NOTHING", s.name+"-outbox-poller-1") // no event, and none of its business
	s.starter("poller", "resume")

	for _, name := range []string{"early", "first", "second"} {
		s.takenBack(s.name+"-"+name, s.name+"-"+name+"-off", 0, 0)
	}
	s.awaitSuccess(s.name+"-first-off", s.name+"-second-off", s.name+"-never-off", poller)
	why := s.starter("delivery", "why", "--event", s.name+"-first", "--recipient", "customer/42", "--channel", "email")
	require.Contains(t, why, "nothing was decided: the event was cancelled by event "+s.name+"-first-off")
	require.Equal(t, 3, s.count("SELECT count(*) FROM notification"), "those who tell of the ends")
	s.awaitSuccess(s.visitToday("after")) // the poller goes on
}

// visitToday is a visit that has no time to wait for, and nobody who is quiet.
func (s *system) visitToday(name string) string {
	s.t.Helper()
	return s.emit(s.name+"-"+name, "CALLED_OFF", "CUSTOMER/42", "{}")
}

// No worker lives to carry out what takes a visit back before its reminder is due. The
// reminder's own attempt finds it.
func TestCancelsWhileNoWorkerRuns(t *testing.T) {
	t.Parallel()

	s := clinic(t)
	w := s.startWorker()
	due := time.Now().Add(15 * time.Second)
	visit := s.visit("visit", due)
	s.awaitDelivery(visit+"-customer42-WEBSOCKET", "SENT")
	s.awaitCount(1, "SELECT count(*) FROM processed_event WHERE event_id = $1", visit)
	w.kill()
	off := s.takesBack("off", "NOTHING", visit)
	s.exec("UPDATE event_outbox SET lease_owner = 'dead', lease_until = now() + interval '30 seconds' WHERE event_id = $1", off) // a poller died with it
	s.eventually(func() bool { return time.Now().After(due) }, "the time does not come")

	s.startWorker()
	s.awaitCount(1, "SELECT count(*) FROM notification WHERE delivery_id = $1 AND status = 'CANCELLED' AND last_error = $2",
		visit+"-customer42-EMAIL", "cancelled by event "+off)
	s.takenBack(visit, off, 3, 1)
	require.Empty(t, s.accepted())
}
