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
	postgrestest.Exec(t, s,
		`UPDATE event_outbox SET correlation_id = 'corr-1', payload = '{"restaurantId": 9007199254740993, "name": "Zoë"}'`)
	postgrestest.Add(t, s.Pool,
		postgrestest.Target{EventType: "RESERVATION_REQUESTED", UserType: notification.RestaurantUser, EntityType: "RESTAURANT",
			EntityIDPath: "restaurantId", Roles: []string{"MANAGER", "STAFF"}},
		postgrestest.Target{EventType: "OTHER", UserType: notification.Customer, EntityType: "CUSTOMER", EntityIDPath: "customer.id"},
		postgrestest.Target{EventType: "RESERVATION_REQUESTED"})
	postgrestest.Add(t, s.Pool,
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Mandatory: true, Strategy: notification.Delayed,
			Delay:        24*time.Hour + 250*time.Millisecond,
			DigestWindow: 7 * 24 * time.Hour, QuietHoursAction: notification.Defer, Priority: notification.High},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.SMS, Roles: []string{"MANAGER"}},
		postgrestest.Route{EventType: "OTHER", Channel: notification.Push},
		postgrestest.Route{EventType: "RESERVATION_REQUESTED", Channel: notification.Push, Strategy: notification.Delayed,
			SendAtPath: "startsAt", SendBefore: "1 day 1 hour", SkipIfPast: true})
	postgrestest.Add(t, s.Pool,
		postgrestest.Escalation{EventType: "RESERVATION_REQUESTED", From: notification.Push, After: 5 * time.Minute},
		postgrestest.Template{EventType: "RESERVATION_REQUESTED.escalated", Channel: notification.SMS, Title: "g", Body: "h"},
		postgrestest.Template{EventType: "RESERVATION_REQUESTED", Channel: notification.Email, Locale: "it", Title: "a", Body: "b"},
		postgrestest.Template{Title: "c", Body: "d"},
		postgrestest.Template{EventType: "OTHER", Channel: notification.SMS, Title: "e", Body: "f"},
		postgrestest.Category{EventType: "RESERVATION_REQUESTED", Category: "reservations"}, postgrestest.Category{EventType: "OTHER"})

	setup := roomtest.Must(planner.On(s).EventSetup(t.Context(), "evt-1"))(t)
	event, recipients, err := planner.On(s).Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, setup.Event, event)
	require.Equal(t, setup.Recipients, recipients)

	require.JSONEq(t, `{"restaurantId": 9007199254740993, "name": "Zoë"}`, string(event.Payload))
	require.Contains(t, string(event.Payload), "9007199254740993", "no digit is lost")
	require.True(t, event.CreatedAt.Equal(postgrestest.Get[time.Time](t, s, "SELECT created_at FROM event_outbox")))
	event.Payload, event.CreatedAt = nil, time.Time{}
	require.Equal(t, notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5",
		CorrelationID: "corr-1"}, event)
	require.Equal(t, []notification.EventRecipients{
		{UserType: notification.RestaurantUser, Audience: "restaurant", EntityType: "RESTAURANT", EntityIDPath: "restaurantId",
			Roles: []string{"MANAGER", "STAFF"}},
		{EntityType: "ADMIN"},
	}, recipients)
	require.ElementsMatch(t, []notification.Routing{
		{
			Channel: notification.Email, Mandatory: true, Strategy: notification.Delayed, Delay: 24*time.Hour + 250*time.Millisecond,
			DigestWindow: 7 * 24 * time.Hour, QuietHoursAction: notification.Defer, Priority: notification.High,
		},
		{Channel: notification.SMS, Strategy: notification.Immediate, DigestWindow: 5 * time.Minute, QuietHoursAction: notification.Drop,
			Roles: []string{"MANAGER"}},
		{
			Channel: notification.Push, Strategy: notification.Delayed, DigestWindow: 5 * time.Minute, QuietHoursAction: notification.Drop,
			SendAtPath: "startsAt", SendBefore: notification.Span{Days: 1, Rest: time.Hour}, SkipIfPast: true,
		},
	}, setup.Routing)
	require.Equal(t,
		[]notification.Escalation{{From: notification.Push, To: notification.SMS, After: 5 * time.Minute, Until: notification.UntilRead,
			IfUnreachable: true}}, setup.Escalations)
	require.ElementsMatch(t, []notification.Template{
		{EventType: "RESERVATION_REQUESTED.escalated", Channel: "SMS", Locale: "en", Title: "g", Body: "h"},
		{EventType: "RESERVATION_REQUESTED", Channel: "EMAIL", Locale: "it", Title: "a", Body: "b"},
		{EventType: "*", Channel: "*", Locale: "en", Title: "c", Body: "d"},
	}, setup.Templates)
	require.Equal(t, "reservations", setup.Category)
	require.Len(t, setup.Supported, len(notification.Channels()))
	require.ElementsMatch(t, []notification.UserType{notification.Admin, notification.RestaurantUser}, setup.Supported[notification.Slack])
	require.ElementsMatch(t, []notification.UserType{notification.RestaurantUser, notification.Customer, notification.AgencyUser},
		setup.Supported[notification.Push])
}

func TestEventSetupOfNoEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	_, err := planner.On(s).EventSetup(t.Context(), "evt-404")
	require.ErrorIs(t, err, notification.ErrNoEvent)
	require.ErrorIs(t, roomtest.ErrOfTwo(planner.On(s).Event(t.Context(), "evt-404")), notification.ErrNoEvent)
}
