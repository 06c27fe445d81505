package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/rabbitmq/rabbitmqtest"
)

// newClinic returns an installation whose directory is the views of docs/directory.md over a
// clinic's tables, with numbers, uuids, an enum and NULLs.
func newClinic(t *testing.T) *system {
	s := newSystem(t)
	s.configure("docs/directory.md")
	s.exec(`
		INSERT INTO patient (full_name, mail, mobile, language) VALUES (NULL, 'ada@example.com', '+12025550110', NULL);
		INSERT INTO doctor (id, full_name, mail)
		VALUES ('d0c00000-0000-0000-0000-000000000001', 'Bo', 'bo@example.com'), ('d0c00000-0000-0000-0000-000000000002', 'Cy', 'cy@example.com');
		INSERT INTO department_job (department_id, doctor_id, job, until)
		VALUES (3, 'd0c00000-0000-0000-0000-000000000001', 'HEAD', NULL), (3, 'd0c00000-0000-0000-0000-000000000001', 'ON_CALL', NULL),
		       (3, 'd0c00000-0000-0000-0000-000000000002', 'ON_CALL', current_date - 1),
		       (3, 'd0c00000-0000-0000-0000-000000000002', 'DOCTOR', NULL);
		INSERT INTO phone (token, patient_id) VALUES ('dead-1', 1), ('good-1', 1)`)
	const result = "RESULT_READY"
	s.fill(
		postgrestest.Route{EventType: result, Mandatory: true},
		postgrestest.Route{EventType: result, Channel: notification.Push, Mandatory: true},
		postgrestest.Route{EventType: result, Channel: notification.SMS, Strategy: notification.Aggregate, DigestWindow: time.Second},
		postgrestest.GroupSetting{EntityType: "DEPARTMENT", EntityID: "3", AllowedRoles: []string{"ON_CALL"}},
		postgrestest.Template{EventType: result, Title: "Result", Body: "A result for {{.recipient.name}}."})
	return s
}

// Events are planned, sent, collected in a digest, retried and explained with a directory of
// views. Herald deactivates a dead token in the clinic's table.
func TestDirectoryOfViews(t *testing.T) {
	t.Parallel()

	s := newClinic(t)
	s.startAll(loadWorker...)
	result := s.emit(s.name+"-1", "RESULT_READY", "RESULT/1", `{"patient": {"id": 1}, "departmentId": 3}`)

	s.awaitSuccess(result)
	const head = "DOCTOR/d0c00000-0000-0000-0000-000000000001"
	mail := result + "-doctord0c00000-0000-0000-0000-000000000001-EMAIL"
	push, sms := result+"-patient1-PUSH", result+"-patient1-SMS"
	require.Equal(t, 4, s.count("SELECT count(*) FROM notification WHERE status = 'SENT'"),
		"two e-mails, a push and an SMS digest, and nothing for people who are no longer on call")
	require.Equal(t, 1, s.count("SELECT count(*) FROM phone WHERE NOT usable AND token = 'dead-1'"))

	require.Contains(t, s.starter("delivery", "list", "--recipient", head), mail)
	require.Contains(t, s.starter("delivery", "why", mail), "named through DEPARTMENT/3, as MANAGER, ON_CALL")
	require.Contains(t, s.starter("delivery", "show", sms), "digest")
	require.Contains(t, s.starter("delivery", "why", "--event", result, "--recipient", "DOCTOR/d0c00000-0000-0000-0000-000000000002",
		"--channel", "email"), "and theirs is DOCTOR")
	s.starter("status")

	s.exec("DROP VIEW recipient_device; CREATE VIEW recipient_device AS SELECT DISTINCT 'PATIENT' AS user_type, patient_id AS user_id, " +
		"token, true AS active FROM phone")
	s.starter("delivery", "retry", push, mail, sms, "--again", "--yes")
	s.awaitCount(3, "SELECT count(*) FROM delivery_attempt a JOIN notification n USING (delivery_id) WHERE a.attempt = 2 "+
		"AND a.outcome = 'SENT' AND n.status = 'SENT'")
	require.Contains(t, s.starter("delivery", "why", push),
		"a dead token could not be switched off in recipient_device: this view cannot be updated")
}

// A user type is added while a worker runs, so that a clinic can notify patients. Then the clinic
// replaces the members by a view that has people of an unknown type.
func TestAddedUserType(t *testing.T) {
	t.Parallel()

	s := newSystem(t)
	w := s.startAll()
	s.fill(postgrestest.UserType{Name: "PATIENT", Who: "patient", Audience: "patient"})
	s.exec(`INSERT INTO channel_user_type (channel_type, user_type) VALUES ('WEBSOCKET', 'PATIENT'), ('EMAIL', 'PATIENT')`)
	s.fill(
		postgrestest.Recipient{UserType: "PATIENT", UserID: "7", Email: "seven@example.com"},
		postgrestest.Member{EntityType: "CLINIC", EntityID: "1", UserType: "PATIENT", UserID: "7", Role: "PATIENT"},
		postgrestest.Target{EventType: "ANY", EntityType: "CLINIC", EntityIDPath: "clinic"},
		postgrestest.Route{EventType: "BOOKED", Channel: notification.WebSocket}, postgrestest.Route{EventType: "BOOKED"},
		postgrestest.Route{EventType: "BOOKED", Channel: notification.SMS},
		postgrestest.Route{EventType: "ADVICE", Strategy: notification.Aggregate, DigestWindow: time.Hour},
		postgrestest.Route{EventType: "LATER", Strategy: notification.Delayed, Delay: time.Hour},
		postgrestest.Route{EventType: "ANY"}, postgrestest.Template{Title: "hello", Body: "you"})
	for _, eventType := range []string{"BOOKED", "ADVICE", "LATER"} {
		s.fill(postgrestest.Target{EventType: eventType, UserType: "PATIENT", EntityType: "CLINIC", EntityIDPath: "clinic"})
	}
	emit := func(eventType string) string {
		return s.emit(s.name+"-"+eventType, eventType, "APPOINTMENT/3", `{"clinic":1}`)
	}
	booked, advice, later := emit("BOOKED"), emit("ADVICE"), emit("LATER")

	s.awaitSuccess(booked)
	s.requireDelivery(booked+"-patient7-EMAIL", "SENT", "")
	s.requireDelivery(booked+"-patient7-WEBSOCKET", "SENT", "")
	require.Equal(t, map[string]int{booked + "-patient7-EMAIL": 1}, s.accepted())
	require.Equal(t, booked+"-patient7-WEBSOCKET", s.take("notification.websocket.patient")[0].MessageId)
	s.eventually(func() bool { return strings.Contains(w.metrics(), `herald_queue_depth{queue="notification.patient"}`) },
		"its queue has no metric")
	var published []string
	host := rabbitmqtest.VirtualHost{URL: s.servers.rabbitURL}
	for _, message := range host.Await(t, "notification.patient", 3) { // one message for each event
		published = append(published, message.MessageId)
	}
	require.ElementsMatch(t, []string{booked, advice, later}, published)
	require.Contains(t, s.starter("delivery", "why", "--event", booked, "--recipient", "patient/7", "--channel", "sms"),
		"SMS may not serve a recipient of type PATIENT")

	s.awaitDeliveries(advice, "PENDING", 1)
	digest := s.name + "-digest-patient7-EMAIL-ADVICE"
	s.eventually(func() bool { return strings.Contains(s.starter("delivery", "why", advice+"-patient7-EMAIL"), digest) },
		"it has no digest %s", digest)
	s.starter("delivery", "send-now", advice+"-patient7-EMAIL")
	s.awaitDelivery(advice+"-patient7-EMAIL", "SENT")
	s.awaitDeliveries(later, "PENDING", 1)
	s.eventually(func() bool {
		_, err := s.tryStarter("delivery", "cancel", later+"-patient7-EMAIL")
		return err == nil
	}, "%s cannot be cancelled", later)
	s.awaitDelivery(later+"-patient7-EMAIL", "CANCELLED")

	s.exec(`ALTER TABLE entity_member RENAME TO member`)
	s.exec(`CREATE VIEW entity_member AS SELECT * FROM member ` +
		`UNION ALL SELECT 'CLINIC', '1', 'DOCTOR', n::text, 'DOCTOR', true FROM generate_series(1, 2) n`)
	mixed := emit("ANY")
	s.awaitSuccess(mixed)
	s.requireDelivery(mixed+"-patient7-EMAIL", "SENT", "")
	require.Contains(t, s.starter("event", "show", mixed), "2 members of CLINIC/1 have the user type DOCTOR, which is not in user_type")
	s.eventually(func() bool {
		return strings.Contains(w.metrics(), `herald_recipients_passed_over_total{outcome="UNKNOWN_USER_TYPE"} 2`)
	}, "they are not counted")
}
