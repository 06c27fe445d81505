package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

var staff10SMS = postgres.DecisionKey{EventID: "evt-1", UserType: notification.RestaurantUser, UserID: "10", Channel: notification.SMS}

// withStaff has evt-1 of restaurant 5, whose chef is staff 10, and text messages
// routed.
func withStaff(t *testing.T) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	emit(t, s, 1)
	addMember(t, s, restaurant5, notification.RestaurantUser, "10", "CHEF")
	exec(t, s, "UPDATE recipient SET phone = '+12025550110', timezone = 'Europe/Rome'")
	exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('RESERVATION_REQUESTED', 'SMS'), ('RESERVATION_REQUESTED', 'EMAIL')")
	return s
}

func decision(t *testing.T, s *postgres.Store, key postgres.DecisionKey) postgres.DecisionReport {
	t.Helper()
	got, err := s.DecisionReport(t.Context(), key)
	require.NoError(t, err)
	return got
}

// Each decision, by the rows that it follows from.
func TestDecisionReportHasTheRowsThatDecide(t *testing.T) {
	t.Parallel()

	const preference = "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT_USER', '10', 'SMS', "
	const setting = "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, max_recipients, allowed_roles) VALUES ('RESTAURANT', '5', 'SMS', "
	tests := []struct {
		want notification.Decision
		sql  string
	}{
		{notification.DecisionUnsupported, "DELETE FROM channel_user_type WHERE (channel_type, user_type) = ('SMS', 'RESTAURANT_USER')"},
		{notification.DecisionUserDisabled, preference + "false, false, NULL, NULL)"},
		{notification.DecisionGroupDisabled, setting + "NULL, false, NULL, NULL)"},
		{notification.DecisionRoleRestricted, setting + "'RESERVATION_REQUESTED', true, NULL, '{MANAGER}')"},
		{notification.DecisionQuietHours, preference + "true, true, '22:00', '07:00')"},
		{notification.DecisionQuietHours, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, quiet_hours_start, quiet_hours_end, quiet_hours_timezone) VALUES ('RESTAURANT', '5', 'SMS', '22:00', '07:00', 'Europe/Rome')"},
		{notification.DecisionMaxRecipients, setting + "NULL, true, 0, NULL)"},
		{notification.DecisionNoAddress, "UPDATE recipient SET phone = ''"},
		{notification.DecisionSelected, setting + "NULL, false, NULL, NULL), ('RESTAURANT', '5', 'SMS', 'RESERVATION_REQUESTED', true, NULL, NULL)"},
	}
	night := time.Date(2026, 11, 21, 23, 14, 0, 0, time.UTC)
	s := withStaff(t)
	for _, tt := range tests { // one after the other: they change the same rows
		exec(t, s, tt.sql)

		got := decision(t, s, staff10SMS)

		require.Equal(t, tt.want, got.Case.Judge(night).Decision)
		exec(t, s, "DELETE FROM entity_notification_settings")
		exec(t, s, "DELETE FROM user_notification_preferences")
		exec(t, s, "UPDATE recipient SET phone = '+12025550110'")
		exec(t, s, "INSERT INTO channel_user_type (channel_type, user_type) VALUES ('SMS', 'RESTAURANT_USER') ON CONFLICT DO NOTHING")
	}
}

func TestDecisionReport(t *testing.T) {
	t.Parallel()

	s := withStaff(t)
	savePlan(t, s, decided("10", planned(notification.SMS)), decided("11", planned(notification.SMS)), decided("12"))
	exec(t, s, "INSERT INTO processed_event (event_id) VALUES ('evt-1')")
	exec(t, s, "UPDATE recipient SET email = 'giulia@example.com'")

	got := decision(t, s, staff10SMS)

	require.Equal(t, "RESERVATION_REQUESTED", got.EventType)
	require.Equal(t, "5", got.Outbox.AggregateID)
	require.Equal(t, "PROCESSING", got.Processed.Status)
	require.Equal(t, map[notification.Channel]notification.Decision{notification.SMS: notification.DecisionSelected, notification.Slack: notification.DecisionNoAddress}, got.Decisions)
	require.True(t, got.DecidedAt.Equal(get[time.Time](t, s, "SELECT decided_at FROM notification_decision WHERE user_id = '10'")))
	require.Equal(t, 2, got.Chosen)
	require.Equal(t, []notification.Channel{notification.Email, notification.SMS}, got.Routed)
	require.True(t, got.Known)
	require.True(t, got.Active)
	require.False(t, got.HasPreference)
	require.Empty(t, got.Unreached)
	require.Equal(t, restaurant5, got.Case.Recipient.Entity)
	require.Equal(t, "CHEF", got.Case.Recipient.Role)
	require.True(t, got.Case.Reachable())
	text := fmt.Sprintf("%+v", got)
	require.NotContains(t, text, "+12025550110")
	require.NotContains(t, text, "giulia@example.com")
}

func TestDecisionReportOfCustomers(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	addRecipient(t, s, notification.Customer, "42")
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		VALUES ('evt-1', 'T', 'CUSTOMER', '42', '{}')`)
	exec(t, s, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, enabled) VALUES ('CUSTOMER', '0', 'SMS', false)")

	got := decision(t, s, postgres.DecisionKey{EventID: "evt-1", UserType: notification.Customer, UserID: "42", Channel: notification.SMS})

	require.Equal(t, notification.Entity{Type: "CUSTOMER", ID: "42"}, got.Case.Recipient.Entity)
	require.Len(t, got.Case.Settings, 1)
	require.False(t, got.Case.Setting().Enabled)
	require.Nil(t, got.Case.Routing)
	require.Empty(t, got.Routed)
}

func TestDecisionReportOfAPurgedEvent(t *testing.T) {
	t.Parallel()

	s := withStaff(t)
	savePlan(t, s, decided("10", planned(notification.SMS)))
	exec(t, s, "DELETE FROM event_outbox")

	got := decision(t, s, staff10SMS)

	require.Nil(t, got.Outbox)
	require.Equal(t, "RESERVATION_REQUESTED", got.EventType)
	require.NotNil(t, got.Case.Routing)
	require.Equal(t, notification.DecisionSelected, got.Decisions[notification.SMS])
	require.Empty(t, got.Unreached)
}

func TestDecisionReportOfNoEvent(t *testing.T) {
	t.Parallel()

	_, err := postgrestest.New(t).DecisionReport(t.Context(), staff10SMS)
	require.ErrorIs(t, err, notification.ErrNoEvent)
}

// Whom a report calls reached is whom planning reads, and the other way round.
func TestDecisionReportAgreesWithPlanning(t *testing.T) {
	t.Parallel()

	s := directory(t)
	exec(t, s, `
		INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload)
		SELECT e, e, a, i, '{"restaurant": 5, "agency": "7", "customer": {"id": 100}}'
		FROM   (VALUES ('by-restaurant', 'RESTAURANT', '5'), ('by-agency', 'AGENCY', '7'), ('by-customer', 'CUSTOMER', '101'), ('by-admin', 'ADMIN', '1'),
		               ('by-broadcast', 'BROADCAST', '0'), ('by-rules', 'ORDER', '1'), ('by-path', 'ORDER', '1'), ('by-nothing', 'ORDER', '1')) v (e, a, i)`)
	exec(t, s, `
		INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path, roles)
		VALUES ('by-rules', 'AGENCY_USER', 'RESTAURANT', 'restaurant', NULL), ('by-rules', NULL, 'AGENCY', 'agency', '{MANAGER,ACCOUNTANT}'), ('by-rules', NULL, 'CUSTOMER', 'customer.id', NULL),
		       ('by-path', NULL, 'RESTAURANT', 'restaurantId', NULL)`)
	for _, event := range []string{"by-restaurant", "by-agency", "by-customer", "by-admin", "by-broadcast", "by-rules", "by-path", "by-nothing"} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, plannedRecipients(t, s, event), reachedRecipients(t, s, event))
		})
	}
}

// plannedRecipients are the entity and role of each recipient that planning reads.
func plannedRecipients(t *testing.T, s *postgres.Store, event string) map[string]string {
	t.Helper()
	e, rules, err := s.Event(t.Context(), event)
	require.NoError(t, err)
	targets, _ := notification.Targets(e, rules)
	page, err := s.Recipients(t.Context(), e.Type, targets, notification.Cursor{}, 100)
	require.NoError(t, err)
	found := map[string]string{}
	for _, r := range page.Recipients {
		found[r.UserType.Who()+r.UserID] = r.Entity.String() + " " + r.Role
	}
	return found
}

func reachedRecipients(t *testing.T, s *postgres.Store, event string) map[string]string {
	t.Helper()
	everybody, err := s.Recipients(t.Context(), "", []notification.Target{{Entity: notification.Entity{Type: "BROADCAST", ID: "0"}}}, notification.Cursor{}, 100)
	require.NoError(t, err)
	inactive := []notification.Recipient{{UserType: notification.Customer, UserID: "101"}, {UserType: notification.Admin, UserID: "2"}, {UserType: notification.Guest, UserID: "404"}}
	found := map[string]string{}
	for _, r := range append(everybody.Recipients, inactive...) {
		got := decision(t, s, postgres.DecisionKey{EventID: event, UserType: r.UserType, UserID: r.UserID, Channel: notification.Email})
		if got.Active && len(got.Unreached) == 0 {
			found[r.UserType.Who()+r.UserID] = got.Case.Recipient.Entity.String() + " " + got.Case.Recipient.Role
		}
	}
	return found
}
