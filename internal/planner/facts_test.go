package planner_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

func TestEventSetup(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.Emit(t, s, 1)
	postgrestest.Exec(t, s, `UPDATE event_outbox SET correlation_id = 'corr-1', payload = '{"restaurantId": 9007199254740993, "name": "Zoë"}'`)
	postgrestest.Exec(t, s, `
		INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
		VALUES ('RESERVATION_REQUESTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', '{MANAGER,STAFF}'),
		       ('OTHER', 'CUSTOMER', 'CUSTOMER', 'customer.id', NULL),
		       ('RESERVATION_REQUESTED', NULL, 'ADMIN', NULL, NULL)`)
	postgrestest.Exec(t, s, `
		INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, delay, digest_window, quiet_hours_action, priority)
		VALUES ('RESERVATION_REQUESTED', 'EMAIL', true, 'DELAYED', '1 day 0.25 seconds', '7 days', 'DEFER', 'HIGH'),
		       ('RESERVATION_REQUESTED', 'SMS', false, 'IMMEDIATE', '0', '5 minutes', 'DROP', NULL),
		       ('OTHER', 'PUSH', false, 'IMMEDIATE', '0', '5 minutes', 'DROP', NULL)`)
	postgrestest.Exec(t, s, `
		INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, send_at_path, send_before, skip_if_past)
		VALUES ('RESERVATION_REQUESTED', 'PUSH', 'DELAYED', 'startsAt', '1 day 1 hour', true)`)
	postgrestest.Exec(t, s, `UPDATE event_type_channel_routing SET roles = '{MANAGER}' WHERE channel_type = 'SMS'`)
	postgrestest.Exec(t, s, `
		INSERT INTO event_type_escalation (event_type, from_channel, to_channel, after, until)
		VALUES ('RESERVATION_REQUESTED', 'PUSH', 'SMS', '5 minutes', 'READ')`)
	postgrestest.Exec(t, s, `
		INSERT INTO notification_template (event_type, channel, locale, title, body)
		VALUES ('RESERVATION_REQUESTED.escalated', 'SMS', 'en', 'g', 'h'), ('RESERVATION_REQUESTED', 'EMAIL', 'it', 'a', 'b'), ('*', '*', 'en', 'c', 'd'), ('OTHER', 'SMS', 'en', 'e', 'f')`)
	postgrestest.Exec(t, s, "INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_REQUESTED', 'reservations'), ('OTHER', 'offers')")

	setup := roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t)
	event, recipients, err := planner.On(s).Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, setup.Event, event)
	require.Equal(t, setup.Recipients, recipients)

	require.JSONEq(t, `{"restaurantId": 9007199254740993, "name": "Zoë"}`, string(event.Payload))
	require.Contains(t, string(event.Payload), "9007199254740993", "no digit is lost")
	require.True(t, event.CreatedAt.Equal(postgrestest.Get[time.Time](t, s, "SELECT created_at FROM event_outbox")))
	event.Payload, event.CreatedAt = nil, time.Time{}
	require.Equal(t, notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "corr-1"}, event)
	require.Equal(t, []notification.EventRecipients{
		{UserType: notification.RestaurantUser, Audience: "restaurant", EntityType: "RESTAURANT", EntityIDPath: "restaurantId", Roles: []string{"MANAGER", "STAFF"}},
		{EntityType: "ADMIN"},
	}, recipients)
	require.ElementsMatch(t, []notification.Routing{
		{
			Channel: notification.Email, Mandatory: true, Strategy: notification.Delayed, Delay: 24*time.Hour + 250*time.Millisecond,
			DigestWindow: 7 * 24 * time.Hour, QuietHoursAction: notification.Defer, Priority: notification.High,
		},
		{Channel: notification.SMS, Strategy: notification.Immediate, DigestWindow: 5 * time.Minute, QuietHoursAction: notification.Drop, Roles: []string{"MANAGER"}},
		{
			Channel: notification.Push, Strategy: notification.Delayed, DigestWindow: 5 * time.Minute, QuietHoursAction: notification.Drop,
			SendAtPath: "startsAt", SendBefore: notification.Span{Days: 1, Rest: time.Hour}, SkipIfPast: true,
		},
	}, setup.Routing)
	require.Equal(t, []notification.Escalation{{From: notification.Push, To: notification.SMS, After: 5 * time.Minute, Until: notification.UntilRead, IfUnreachable: true}}, setup.Escalations)
	require.ElementsMatch(t, []notification.Template{
		{EventType: "RESERVATION_REQUESTED.escalated", Channel: "SMS", Locale: "en", Title: "g", Body: "h"},
		{EventType: "RESERVATION_REQUESTED", Channel: "EMAIL", Locale: "it", Title: "a", Body: "b"},
		{EventType: "*", Channel: "*", Locale: "en", Title: "c", Body: "d"},
	}, setup.Templates)
	require.Equal(t, "reservations", setup.Category)
	require.Len(t, setup.Supported, len(notification.Channels()))
	require.ElementsMatch(t, []notification.UserType{notification.Admin, notification.RestaurantUser}, setup.Supported[notification.Slack])
	require.ElementsMatch(t, []notification.UserType{notification.RestaurantUser, notification.Customer, notification.AgencyUser}, setup.Supported[notification.Push])
}

func TestEventSetupOfNoEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	_, err := planner.On(s).EventSetup(t.Context(), "evt-404")
	require.ErrorIs(t, err, notification.ErrNoEvent)
	require.ErrorIs(t, roomtest.ErrOfTwo(planner.On(s).Event(t.Context(), "evt-404")), notification.ErrNoEvent)
}
