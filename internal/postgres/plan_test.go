package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

func TestEventSetup(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	emit(t, s, 1)
	exec(t, s, `UPDATE event_outbox SET correlation_id = 'corr-1', payload = '{"restaurantId": 9007199254740993, "name": "Zoë"}'`)
	exec(t, s, `
		INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
		VALUES ('RESERVATION_REQUESTED', 'RESTAURANT_USER', 'RESTAURANT', 'restaurantId', '{MANAGER,STAFF}'),
		       ('OTHER', 'CUSTOMER', 'CUSTOMER', 'customer.id', NULL),
		       ('RESERVATION_REQUESTED', NULL, 'ADMIN', NULL, NULL)`)
	exec(t, s, `
		INSERT INTO event_type_channel_routing (event_type, channel_type, mandatory, delivery_strategy, delay, digest_window, quiet_hours_action, priority)
		VALUES ('RESERVATION_REQUESTED', 'EMAIL', true, 'DELAYED', '1 day 0.25 seconds', '7 days', 'DEFER', 'HIGH'),
		       ('RESERVATION_REQUESTED', 'SMS', false, 'IMMEDIATE', '0', '5 minutes', 'DROP', NULL),
		       ('OTHER', 'PUSH', false, 'IMMEDIATE', '0', '5 minutes', 'DROP', NULL)`)
	exec(t, s, `
		INSERT INTO notification_template (event_type, channel, locale, title, body)
		VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'it', 'a', 'b'), ('*', '*', 'en', 'c', 'd'), ('OTHER', 'SMS', 'en', 'e', 'f')`)

	setup, err := s.EventSetup(t.Context(), "evt-1")
	require.NoError(t, err)
	event, recipients, err := s.Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, setup.Event, event)
	require.Equal(t, setup.Recipients, recipients)

	require.JSONEq(t, `{"restaurantId": 9007199254740993, "name": "Zoë"}`, string(event.Payload))
	require.Contains(t, string(event.Payload), "9007199254740993", "no digit is lost")
	require.True(t, event.CreatedAt.Equal(get[time.Time](t, s, "SELECT created_at FROM event_outbox")))
	event.Payload, event.CreatedAt = nil, time.Time{}
	require.Equal(t, notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED", AggregateType: "RESTAURANT", AggregateID: "5", CorrelationID: "corr-1"}, event)
	require.Equal(t, []notification.RecipientRule{
		{UserType: notification.RestaurantUser, EntityType: "RESTAURANT", EntityIDPath: "restaurantId", Roles: []string{"MANAGER", "STAFF"}},
		{EntityType: "ADMIN"},
	}, recipients)
	require.ElementsMatch(t, []notification.Routing{
		{
			Channel: notification.Email, Mandatory: true, Strategy: notification.Delayed, Delay: 24*time.Hour + 250*time.Millisecond,
			DigestWindow: 7 * 24 * time.Hour, QuietHoursAction: notification.Defer, Priority: notification.High,
		},
		{Channel: notification.SMS, Strategy: notification.Immediate, DigestWindow: 5 * time.Minute, QuietHoursAction: notification.Drop},
	}, setup.Routing)
	require.ElementsMatch(t, []notification.Template{
		{EventType: "RESERVATION_REQUESTED", Channel: "EMAIL", Locale: "it", Title: "a", Body: "b"},
		{EventType: "*", Channel: "*", Locale: "en", Title: "c", Body: "d"},
	}, setup.Templates)
	require.Len(t, setup.Supported, len(notification.Channels()))
	require.ElementsMatch(t, []notification.UserType{notification.Admin, notification.RestaurantUser}, setup.Supported[notification.Slack])
	require.ElementsMatch(t, []notification.UserType{notification.RestaurantUser, notification.Customer, notification.AgencyUser}, setup.Supported[notification.Push])
}

func TestEventSetupOfNoEvent(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	_, err := s.EventSetup(t.Context(), "evt-404")
	require.ErrorIs(t, err, notification.ErrNoEvent)
	_, _, err = s.Event(t.Context(), "evt-404")
	require.ErrorIs(t, err, notification.ErrNoEvent)
}

var event1 = notification.Event{ID: "evt-1", Type: "RESERVATION_REQUESTED"}

// decided is a recipient of evt-1 with one selected channel for each delivery.
func decided(userID string, deliveries ...notification.PlannedDelivery) notification.DecidedRecipient {
	r := notification.DecidedRecipient{
		UserType: notification.RestaurantUser, UserID: userID,
		Decisions: map[notification.Channel]notification.Decision{notification.Slack: notification.DecisionNoAddress},
	}
	for _, d := range deliveries {
		d.DeliveryID = notification.DeliveryID(event1.ID, r.UserType, userID, d.Channel)
		r.Decisions[d.Channel] = notification.DecisionSelected
		r.Deliveries = append(r.Deliveries, d)
	}
	return r
}

// planned is a delivery that can be sent at once.
func planned(channel notification.Channel) notification.PlannedDelivery {
	return notification.PlannedDelivery{
		Channel: channel, Address: "to-" + string(channel), Title: "title", Body: "body",
		Strategy: notification.Immediate, Priority: notification.Normal,
	}
}

func savePlan(t *testing.T, s *postgres.Store, page ...notification.DecidedRecipient) ([]notification.Delivery, notification.IDRange) {
	t.Helper()
	deliveries, ids, err := s.SavePlan(t.Context(), event1, page)
	require.NoError(t, err)
	return deliveries, ids
}

func TestSavePlan(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	at := time.Date(2099, 11, 22, 7, 0, 0, 123456000, time.UTC)
	later := planned(notification.Email)
	later.Strategy, later.Priority, later.SendAfter = notification.Delayed, notification.High, at
	bare := planned(notification.Push)
	bare.Address = ""
	broken := notification.PlannedDelivery{Channel: notification.SMS, Address: "+1", Strategy: notification.Immediate, Priority: notification.Low, Problem: "no key pax"}
	page := []notification.DecidedRecipient{decided("10", later, bare), decided("9", broken), decided("8")}

	deliveries, ids := savePlan(t, s, page...)

	want := []notification.Delivery{
		{DeliveryID: "evt-1-staff10-EMAIL", Channel: notification.Email, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.High, SendAfter: at, Wait: "22 Nov 07:00 UTC: delay"},
		{DeliveryID: "evt-1-staff10-PUSH", Channel: notification.Push, UserType: notification.RestaurantUser, UserID: "10", Priority: notification.Normal},
		{DeliveryID: "evt-1-staff9-SMS", Channel: notification.SMS, UserType: notification.RestaurantUser, UserID: "9", Priority: notification.Low},
	}
	require.ElementsMatch(t, want, deliveries)
	require.Equal(t, []string{"evt-1-staff10-EMAIL"}, read(t, s, ids, true))
	require.ElementsMatch(t, []string{"evt-1-staff10-PUSH", "evt-1-staff9-SMS"}, read(t, s, ids, false))

	require.Equal(t, row{Status: "PENDING", Title: ptr("title"), Body: ptr("body"), Address: ptr("to-EMAIL")}, delivery(t, s, "evt-1-staff10-EMAIL"))
	require.Equal(t, row{Status: "PENDING", Title: ptr("title"), Body: ptr("body")}, delivery(t, s, "evt-1-staff10-PUSH"))
	require.Equal(t, row{Status: "FAILED", Error: ptr("no key pax"), Address: ptr("+1")}, delivery(t, s, "evt-1-staff9-SMS"))
	require.Equal(t, "DELAYED", get[string](t, s, "SELECT strategy FROM notification WHERE channel = 'EMAIL'"))
	require.Equal(t, "RESERVATION_REQUESTED", get[string](t, s, "SELECT event_type FROM notification WHERE channel = 'EMAIL'"))
	require.JSONEq(t, `{"EMAIL": "SELECTED", "PUSH": "SELECTED", "SLACK": "NO_ADDRESS"}`, get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`, get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '8'"))
}

// A repeat, in which a setting has changed meanwhile, changes nothing.
func TestSavePlanRepeated(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first, ids := savePlan(t, s, decided("9", planned(notification.Email), planned(notification.SMS)), decided("10"))
	changed := planned(notification.Email)
	changed.Body = "changed"

	again, sameIDs := savePlan(t, s, decided("9", changed, planned(notification.Push)), decided("10", planned(notification.Email)))

	require.Equal(t, first, again)
	require.Equal(t, ids, sameIDs)
	require.Equal(t, ptr("body"), delivery(t, s, "evt-1-staff9-EMAIL").Body)
	require.Equal(t, 2, get[int](t, s, "SELECT count(*) FROM notification"))
	require.JSONEq(t, `{"SLACK": "NO_ADDRESS"}`, get[string](t, s, "SELECT channels::text FROM notification_decision WHERE user_id = '10'"))
}

// An attempt that timed out may still be running beside its repeat.
func TestSavePlanSideBySide(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	plans := make([][]notification.Delivery, 4)
	var group errgroup.Group
	for i := range plans {
		var page []notification.DecidedRecipient
		for user := range 50 {
			page = append(page, decided(fmt.Sprint(user), planned(notification.Email)))
		}
		group.Go(func() (err error) {
			plans[i], _, err = s.SavePlan(t.Context(), event1, page)
			return err
		})
	}
	require.NoError(t, group.Wait())

	require.Len(t, plans[0], 50)
	for _, plan := range plans[1:] {
		require.Equal(t, plans[0], plan)
	}
}

// A plan is stored whole or not at all.
func TestSavePlanRefused(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	refused := planned(notification.SMS)
	refused.Priority = "URGENT"
	_, _, err := s.SavePlan(t.Context(), event1, []notification.DecidedRecipient{decided("9", planned(notification.Email)), decided("10", refused)})
	require.ErrorContains(t, err, "notification_priority")
	require.NotContains(t, err.Error(), "to-SMS")
	require.Zero(t, get[int](t, s, "SELECT count(*) FROM notification_decision"))
	require.Zero(t, get[int](t, s, "SELECT count(*) FROM notification"))
}

func TestSavePlanOfNobody(t *testing.T) {
	t.Parallel()

	deliveries, ids := savePlan(t, postgrestest.New(t))
	require.Empty(t, deliveries)
	require.Zero(t, ids)
}

// The pages of one event, and other events between them, do not mix.
func TestDeliveriesByRange(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	first, firstIDs := savePlan(t, s, decided("1", planned(notification.Email), planned(notification.SMS)))
	_, _, err := s.SavePlan(t.Context(), notification.Event{ID: "evt-2", Type: "T"}, []notification.DecidedRecipient{{
		UserType: notification.Customer, UserID: "1", Decisions: map[notification.Channel]notification.Decision{notification.SMS: notification.DecisionSelected},
		Deliveries: []notification.PlannedDelivery{{DeliveryID: "evt-2-customer1-SMS", Channel: notification.SMS, Strategy: notification.Immediate, Priority: notification.Normal}},
	}})
	require.NoError(t, err)
	second, secondIDs := savePlan(t, s, decided("2", planned(notification.Email)))

	for _, tt := range []struct {
		ids  notification.IDRange
		want []notification.Delivery
	}{
		{firstIDs, first},
		{secondIDs, second},
		{notification.IDRange{First: firstIDs.First, Last: secondIDs.Last}, append(first, second...)},
		{notification.IDRange{First: secondIDs.Last + 1, Last: secondIDs.Last + 10}, nil},
		{notification.IDRange{}, nil},
	} {
		got, err := s.Deliveries(t.Context(), "evt-1", tt.ids, false)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
}

// A page is read in two parts, which together are all of it.
func TestDeliveriesThatWait(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	later, past := planned(notification.SMS), planned(notification.Push)
	later.SendAfter, past.SendAfter = at, at.AddDate(-1, 0, 0) // what was to wait and is due by now
	s := postgrestest.New(t)
	all, ids := savePlan(t, s, decided("1", planned(notification.Email), later), decided("2", past), decided("3", planned(notification.Email)))

	waiting, err := s.Deliveries(t.Context(), "evt-1", ids, true)
	require.NoError(t, err)
	immediate, err := s.Deliveries(t.Context(), "evt-1", ids, false)
	require.NoError(t, err)

	require.Len(t, waiting, 2)
	for _, d := range waiting {
		require.False(t, d.SendAfter.IsZero(), d.DeliveryID)
	}
	require.Len(t, immediate, 2)
	for _, d := range immediate {
		require.True(t, d.SendAfter.IsZero(), d.DeliveryID)
	}
	require.ElementsMatch(t, all, append(waiting, immediate...))
}

// read returns the ids of a page's deliveries that wait, or that do not.
func read(t *testing.T, s *postgres.Store, ids notification.IDRange, waiting bool) []string {
	t.Helper()
	deliveries, err := s.Deliveries(t.Context(), "evt-1", ids, waiting)
	require.NoError(t, err)
	var read []string
	for _, d := range deliveries {
		read = append(read, d.DeliveryID)
	}
	return read
}

// row is what a test looks at of a delivery.
type row struct {
	Status                      string
	Attempts                    int
	Title, Body, Address, Error *string
	ProviderID                  *string
	Sent                        bool // sent_at is set
}

func delivery(t *testing.T, s *postgres.Store, id string) row {
	t.Helper()
	var r row
	require.NoError(t, s.Pool.QueryRow(t.Context(), `
		SELECT status, attempt_count, title, body, recipient_address, last_error, provider_message_id, sent_at IS NOT NULL
		FROM   notification
		WHERE  delivery_id = $1`, id).Scan(&r.Status, &r.Attempts, &r.Title, &r.Body, &r.Address, &r.Error, &r.ProviderID, &r.Sent))
	return r
}
