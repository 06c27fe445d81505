package e2e_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/rabbitmq/rabbitmqtest"
)

// TestAddedUserType adds a user type while a worker runs: a clinic tells its patients. Then the clinic
// replaces the members by a view that holds people of a type which is not there.
func TestAddedUserType(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	w := s.startWorker()
	s.starter("poller", "start")
	s.exec(`INSERT INTO user_type (user_type, who, audience) VALUES ('PATIENT', 'patient', 'patient')`)
	s.exec(`INSERT INTO channel_user_type (channel_type, user_type) VALUES ('WEBSOCKET', 'PATIENT'), ('EMAIL', 'PATIENT')`)
	s.exec(`INSERT INTO recipient (user_type, user_id, email) VALUES ('PATIENT', '7', 'seven@example.com')`)
	s.exec(`INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role) VALUES ('CLINIC', '1', 'PATIENT', '7', 'PATIENT')`)
	s.exec(`INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path)
	        VALUES ('BOOKED', 'PATIENT', 'CLINIC', 'clinic'), ('ADVICE', 'PATIENT', 'CLINIC', 'clinic'), ('LATER', 'PATIENT', 'CLINIC', 'clinic'), ('ANY', NULL, 'CLINIC', 'clinic')`)
	s.exec(`INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, delay, digest_window)
	        VALUES ('BOOKED', 'WEBSOCKET', 'IMMEDIATE', '0', '5 minutes'), ('BOOKED', 'EMAIL', 'IMMEDIATE', '0', '5 minutes'), ('BOOKED', 'SMS', 'IMMEDIATE', '0', '5 minutes'),
	               ('ADVICE', 'EMAIL', 'AGGREGATE', '0', '1 hour'), ('LATER', 'EMAIL', 'DELAYED', '1 hour', '5 minutes'), ('ANY', 'EMAIL', 'IMMEDIATE', '0', '5 minutes')`)
	s.exec(`INSERT INTO notification_template (event_type, title, body) VALUES ('*', 'hello', 'you')`)
	emit := func(eventType string) string {
		return s.emit(s.name+"-"+eventType, eventType, "APPOINTMENT/3", `{"clinic":1}`)
	}
	booked, advice, later := emit("BOOKED"), emit("ADVICE"), emit("LATER")

	s.awaitSuccess(booked)
	s.requireDelivery(booked+"-patient7-EMAIL", "SENT", "")
	s.requireDelivery(booked+"-patient7-WEBSOCKET", "SENT", "")
	require.Equal(t, map[string]int{booked + "-patient7-EMAIL": 1}, s.accepted())
	require.Equal(t, booked+"-patient7-WEBSOCKET", s.take("notification.websocket.patient")[0].MessageId)
	s.eventually(func() bool { return strings.Contains(w.metrics(), `herald_queue_depth{queue="notification.patient"}`) }, "its queue has no metric")
	var published []string
	for _, message := range (rabbitmqtest.VirtualHost{URL: s.servers.rabbitURL}).Await(t, "notification.patient", 3) { // one for each event
		published = append(published, message.MessageId)
	}
	require.ElementsMatch(t, []string{booked, advice, later}, published)
	require.Contains(t, s.starter("delivery", "why", "--event", booked, "--recipient", "patient/7", "--channel", "sms"), "SMS may not serve a recipient of type PATIENT")

	s.awaitDeliveries(advice, "PENDING", 1)
	digest := s.name + "-digest-patient7-EMAIL-ADVICE"
	s.eventually(func() bool { return strings.Contains(s.starter("delivery", "why", advice+"-patient7-EMAIL"), digest) }, "it has no digest %s", digest)
	s.starter("delivery", "send-now", advice+"-patient7-EMAIL")
	s.awaitDelivery(advice+"-patient7-EMAIL", "SENT")
	s.awaitDeliveries(later, "PENDING", 1)
	s.eventually(func() bool {
		_, err := s.tryStarter("delivery", "cancel", later+"-patient7-EMAIL")
		return err == nil
	}, "%s cannot be cancelled", later)
	s.awaitDelivery(later+"-patient7-EMAIL", "CANCELLED")

	s.exec(`ALTER TABLE entity_member RENAME TO member`)
	s.exec(`CREATE VIEW entity_member AS SELECT * FROM member UNION ALL SELECT 'CLINIC', '1', 'DOCTOR', n::text, 'DOCTOR', true FROM generate_series(1, 2) n`)
	mixed := emit("ANY")
	s.awaitSuccess(mixed)
	s.requireDelivery(mixed+"-patient7-EMAIL", "SENT", "")
	require.Contains(t, s.starter("event", "show", mixed), "2 members of CLINIC/1 have the user type DOCTOR, which is not in user_type")
	s.eventually(func() bool {
		return strings.Contains(w.metrics(), `herald_recipients_passed_over_total{outcome="UNKNOWN_USER_TYPE"} 2`)
	}, "they are not counted")
}
