package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// withPatients has a user type of an installation's own.
func withPatients(t *testing.T) *postgres.Store {
	t.Helper()
	s := postgrestest.New(t)
	exec(t, s, insertUserType+`('PATIENT', 'patient', 'clinic')`)
	return s
}

func TestUserTypes(t *testing.T) {
	t.Parallel()

	types, err := withPatients(t).UserTypes(t.Context())

	require.NoError(t, err)
	require.Equal(t, []notification.UserTypeRow{
		{UserType: "ADMIN", Who: "admin", Audience: "admin"}, {UserType: "AGENCY_USER", Who: "agent", Audience: "agency"},
		{UserType: "CUSTOMER", Who: "customer", Audience: "customer"}, {UserType: "GUEST", Who: "guest", Audience: "guest"},
		{UserType: "PATIENT", Who: "patient", Audience: "clinic"}, {UserType: "RESTAURANT_USER", Who: "staff", Audience: "restaurant"},
	}, types)
}

// All that reads people by their type reads those of an added one.
func TestAddedUserType(t *testing.T) {
	t.Parallel()

	s := withPatients(t)
	clinic := notification.Entity{Type: "CLINIC", ID: "1"}
	addMember(t, s, clinic, "PATIENT", "7", "PATIENT")
	exec(t, s, insertEvent+`('evt-1', 'T', 'APPOINTMENT', '1', '{}')`)
	exec(t, s, `INSERT INTO event_type_recipients (event_type, user_type, entity_type, entity_id_path) VALUES ('T', 'PATIENT', 'CLINIC', 'clinic'), ('T', NULL, 'ADMIN', NULL)`)
	exec(t, s, insertDelivery+`status, strategy, digest_id) VALUES ('evt-1', 'T', 'PATIENT', '7', 'WEBSOCKET', 'evt-1-patient7-WEBSOCKET', 'title', 'body', 'PENDING', 'AGGREGATE', 'digest-1')`)

	for _, entity := range []notification.Entity{clinic, {Type: "BROADCAST", ID: "0"}} {
		page, err := s.Recipients(t.Context(), "T", []notification.Target{{Entity: entity}}, notification.Cursor{}, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"patient7"}, names(page.Recipients))
		require.Empty(t, page.PassedOver)
	}
	_, rules, err := s.Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, []string{"clinic", ""}, []string{rules[0].Audience, rules[1].Audience})
	place, err := s.DigestPlace(t.Context(), "evt-1-patient7-WEBSOCKET")
	require.NoError(t, err)
	require.Equal(t, "patient", place.Who)
	exec(t, s, "UPDATE notification SET strategy = 'IMMEDIATE'")
	require.Equal(t, "clinic", begin(t, s, "evt-1-patient7-WEBSOCKET", 0).Message.Audience)
}

// What a row of user_type may not become, and what the refusal says.
func TestUserTypeIsKept(t *testing.T) {
	t.Parallel()

	s := withPatients(t)
	exec(t, s, `UPDATE user_type SET who = 'sick', audience = 'hospital' WHERE user_type = 'PATIENT'`)
	exec(t, s, `UPDATE user_type SET who = 'patient' WHERE user_type = 'PATIENT'`)
	exec(t, s, insertUserType+`('ROBOT', 'robot', 'robot')`)
	exec(t, s, `DELETE FROM user_type WHERE user_type = 'ROBOT'`)
	exec(t, s, insertDelivery+`status) VALUES ('evt-1', 'T', 'PATIENT', '7', 'EMAIL', 'evt-1-patient7-EMAIL', 'title', 'body', 'PENDING')`)
	tests := []struct{ name, sql, want, hint string }{
		{name: "another word", sql: `UPDATE user_type SET who = 'sick' WHERE user_type = 'PATIENT'`, want: "user type PATIENT is in use: there are notifications", hint: "another user type"},
		{name: "another audience", sql: `UPDATE user_type SET audience = 'sick' WHERE user_type = 'PATIENT'`, want: "user type PATIENT is in use", hint: "another user type"},
		{name: "gone, with notifications", sql: `DELETE FROM user_type WHERE user_type = 'PATIENT'`, want: "user type PATIENT is in use", hint: "another user type"},
		{name: "gone, with rules", sql: `DELETE FROM user_type WHERE user_type = 'GUEST'`, want: "channel_user_type_user_type"},
		{name: "begins with another's", sql: insertUserType + `('OUTPATIENT', 'patientout', 'patient')`, want: "who patientout is too like patient of user type PATIENT", hint: "differs earlier"},
		{name: "begins another's", sql: insertUserType + `('STUDENT', 'st', 'student')`, want: "who st is too like staff of user type RESTAURANT_USER", hint: "differs earlier"},
		{name: "becomes like another's", sql: `UPDATE user_type SET who = 'guests' WHERE user_type = 'ADMIN'`, want: "who guests is too like guest", hint: "differs earlier"},
	}
	for _, tt := range tests {
		_, err := s.Pool.Exec(t.Context(), tt.sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, tt.name)
		require.Contains(t, refused.Message, tt.want, tt.name)
		require.Contains(t, refused.Hint, tt.hint, tt.name)
	}
	exec(t, s, `UPDATE user_type SET who = who`)
}

// The migration leaves rows as they are, whether the directory is tables or views, and
// goes back and forth with people of an added type.
func TestMigrateUserTypes(t *testing.T) {
	t.Parallel()

	for name, directory := range map[string]string{
		"tables": `INSERT INTO recipient (user_type, user_id) VALUES ('CUSTOMER', '7')`,
		"views": `
			DROP TABLE entity_member, recipient_device, recipient;
			CREATE VIEW recipient AS SELECT 'PATIENT' AS user_type, 7::bigint AS user_id, true AS active;
			CREATE VIEW recipient_device AS SELECT user_type, user_id, 'token' AS token, true AS active FROM recipient;
			CREATE VIEW entity_member AS SELECT 'CLINIC' AS entity_type, 1 AS entity_id, user_type, user_id, 'PATIENT' AS role, true AS active FROM recipient`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			m := newMigrator(t, s)
			downTo(t, m, "0018")
			exec(t, s, directory)
			exec(t, s, `INSERT INTO user_notification_preferences (user_type, user_id, channel_type) VALUES ('NOBODY', '1', 'SMS')`)
			notValid := func() []string {
				_, err := m.Up(t.Context())
				require.NoError(t, err)
				return list(t, s, "SELECT conname FROM pg_constraint WHERE conname ~ 'user_type$' AND NOT convalidated ORDER BY 1")
			}

			require.Equal(t, []string{"user_notification_preferences_user_type"}, notValid(), "a preference that is nobody's stays")
			exec(t, s, insertUserType+`('PATIENT', 'patient', 'patient')`)
			exec(t, s, `INSERT INTO event_type_recipients (event_type, user_type, entity_type) VALUES ('T', 'PATIENT', 'BROADCAST')`)
			exec(t, s, insertDelivery+`status) VALUES ('evt-1', 'T', 'PATIENT', '7', 'EMAIL', 'd1', 'title', 'body', 'PENDING')`)
			downTo(t, m, "0018")
			_, err := s.Pool.Exec(t.Context(), `INSERT INTO event_type_recipients (event_type, user_type, entity_type) VALUES ('T', 'DOCTOR', 'BROADCAST')`)
			require.ErrorContains(t, err, "event_type_recipients_user_type")
			require.Equal(t, []string{"event_type_recipients_user_type", "user_notification_preferences_user_type"}, notValid(), "the rows wait for their type")
			exec(t, s, insertUserType+`('PATIENT', 'patient', 'patient')`)
		})
	}
}
