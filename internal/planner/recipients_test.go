package planner_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

var (
	agency7 = notification.Entity{Type: notification.EntityAgency, ID: "7"}
	admins  = notification.Entity{Type: "ADMIN", ID: "0"}
)

// directory returns a store with a restaurant, an agency, two customers and two admins,
// some of them inactive.
func directory(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "10", "STAFF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "9", "STAFF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "20", "MANAGER")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "ada", "STAFF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "11", "STAFF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "12", "STAFF")
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.AgencyUser, "30", "AGENT")
	roomtest.AddMember(t, s, agency7, notification.AgencyUser, "30", "MANAGER")
	roomtest.AddMember(t, s, agency7, notification.AgencyUser, "31", "AGENT")
	roomtest.AddMember(t, s, agency7, notification.AgencyUser, "32", "ACCOUNTANT")
	for _, id := range []string{"100", "101"} {
		roomtest.AddRecipient(t, s, notification.Customer, id)
	}
	for _, id := range []string{"1", "2"} {
		roomtest.AddRecipient(t, s, notification.Admin, id)
	}
	postgrestest.Exec(t, s, "UPDATE entity_member SET active = false WHERE user_id = '11'")
	postgrestest.Exec(t, s, "UPDATE recipient SET active = false WHERE user_id IN ('12', '101', '2')")
	return s
}

func TestRecipients(t *testing.T) {
	t.Parallel()

	s := directory(t)
	customer := func(id string) notification.Entity {
		return notification.Entity{Type: notification.EntityCustomer, ID: id}
	}
	tests := []struct {
		name    string
		targets []notification.Target
		want    []string // "who" + user id, in order
	}{
		{name: "managers first, then numbers as numbers, then other ids", targets: []notification.Target{{Entity: roomtest.Restaurant5}},
			want: []string{"staff20", "staff9", "staff10", "agent30", "staffada"}},
		{name: "one user type", targets: []notification.Target{{Entity: roomtest.Restaurant5, UserType: notification.AgencyUser}},
			want: []string{"agent30"}},
		{name: "some roles", targets: []notification.Target{{Entity: agency7, Roles: []string{"AGENT", "MANAGER"}}},
			want: []string{"agent30", "agent31"}},
		{name: "no role allowed", targets: []notification.Target{{Entity: agency7, Roles: []string{}}}},
		{name: "another restaurant", targets: []notification.Target{{Entity: notification.Entity{Type: "RESTAURANT", ID: "6"}}}},
		{name: "a customer", targets: []notification.Target{{Entity: customer("100"), UserType: notification.Customer}},
			want: []string{"customer100"}},
		{name: "a customer, by a rule for any user type", targets: []notification.Target{{Entity: customer("100")}},
			want: []string{"customer100"}},
		{name: "a customer, by a rule for others", targets: []notification.Target{{Entity: customer("100"), UserType: notification.Admin}}},
		{name: "an inactive customer", targets: []notification.Target{{Entity: customer("101")}}},
		{name: "an unknown customer", targets: []notification.Target{{Entity: customer("404")}}},
		{name: "admins", targets: []notification.Target{{Entity: admins, UserType: notification.Admin}}, want: []string{"admin1"}},
		{name: "admins, by a rule for any user type", targets: []notification.Target{{Entity: admins}}, want: []string{"admin1"}},
		{name: "everybody", targets: []notification.Target{{Entity: roomtest.Everybody}},
			want: []string{"admin1", "staff9", "staff10", "staff11", "staff20", "agent30", "agent31", "agent32", "customer100", "staffada"}},
		{name: "everybody of a type", targets: []notification.Target{{Entity: roomtest.Everybody, UserType: notification.AgencyUser}},
			want: []string{"agent30", "agent31", "agent32"}},
		{name: "several targets, each recipient once",
			targets: []notification.Target{{Entity: agency7}, {Entity: roomtest.Restaurant5}, {Entity: customer("100")}}, want: []string{"staff20",
				"agent30", "staff9", "staff10", "agent31", "agent32", "customer100", "staffada"}},
		{name: "no targets"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", tt.targets, notification.Cursor{}, 100))(t)
			require.Nil(t, page.Next)
			require.Equal(t, tt.want, roomtest.Names(page.Recipients))
			for _, limit := range []int{1, 2, 3} {
				require.Equal(t, tt.want, roomtest.Names(roomtest.AllPages(t, s, tt.targets, limit)), "in pages of %d", limit)
				require.Equal(t, min(limit, len(tt.want)), roomtest.Must(planner.On(s).CountRecipients(t.Context(), tt.targets, limit))(t))
			}
		})
	}
}

func TestRecipientHasEveryField(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "10", "STAFF")
	postgrestest.Exec(t, s, `
		UPDATE recipient
		SET    name = 'Ada', email = 'ada@example.com', phone = '+15005550006', slack_webhook_url = 'https://hooks.slack.com/services/x',
		       locale = 'it-CH', timezone = 'Europe/Rome'`)
	postgrestest.Add(t, s.Pool,
		postgrestest.Device{Token: "old", Inactive: true}, postgrestest.Device{Token: "new"},
		postgrestest.Preference{Off: true, QuietStart: "22:30:15.000001", QuietEnd: "07:00", Priority: notification.High},
		postgrestest.Preference{Channel: notification.Push, QuietStart: "22:00", QuietEnd: "07:00", Priority: notification.Low},
		postgrestest.Preference{Channel: notification.SMS, QuietStart: "00:00", QuietEnd: "23:59:59.999999"})
	postgrestest.Exec(t, s, "UPDATE user_notification_preferences SET quiet_hours_enabled = false WHERE channel_type = 'PUSH'")

	page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: roomtest.Restaurant5}},
		notification.Cursor{}, 10))(t)
	require.Len(t, page.Recipients, 1)
	got := page.Recipients[0]
	require.ElementsMatch(t, []notification.Preference{
		{Channel: notification.Email,
			QuietHours: &notification.QuietHours{Start: 22*time.Hour + 30*time.Minute + 15*time.Second + time.Microsecond,
				End: 7 * time.Hour}, Priority: notification.High},
		{Channel: notification.Push, Enabled: true, Priority: notification.Low},
		{Channel: notification.SMS, Enabled: true, QuietHours: &notification.QuietHours{End: 24*time.Hour - time.Microsecond},
			Priority: notification.Normal},
	}, got.Preferences)
	got.Preferences = nil
	require.Equal(t, notification.Recipient{
		UserType: notification.RestaurantUser, Who: "staff", UserID: "10", Roles: []string{"STAFF"},
		Entity: roomtest.Restaurant5, MemberRole: "STAFF",
		Name: "Ada", Email: "ada@example.com", Phone: "+15005550006", SlackWebhookURL: "https://hooks.slack.com/services/x",
		HasDevice: true, Locale: "it-CH", Timezone: "Europe/Rome",
	}, got)

	postgrestest.Add(t, s.Pool,
		postgrestest.CategoryPreference{Off: true}, postgrestest.CategoryPreference{Channel: notification.SMS},
		postgrestest.CategoryPreference{UserType: notification.Customer, Category: "news", Off: true},
		postgrestest.UserSettings{Timezone: "Asia/Kathmandu"}, postgrestest.UserSettings{UserType: notification.Customer, Timezone: "UTC"})
	postgrestest.Exec(t, s, "UPDATE recipient_device SET active = false")
	page = roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: roomtest.Restaurant5}},
		notification.Cursor{}, 10))(t)
	require.False(t, page.Recipients[0].HasDevice)
	require.Equal(t, []notification.CategoryChannelKey{{Category: "offers", Channel: notification.Email}}, page.Recipients[0].CategoriesOff)
	require.Equal(t, "Asia/Kathmandu", page.Recipients[0].Timezone)
}

func TestRecipientSettings(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.GroupSetting{Off: true}, postgrestest.GroupSetting{EventType: "T", MaxRecipients: new(0), AllowedRoles: []string{}},
		postgrestest.GroupSetting{EventType: "OTHER", MaxRecipients: new(1)},
		postgrestest.GroupSetting{EntityType: "AGENCY", EntityID: "7", Channel: notification.SMS, MaxRecipients: new(3),
			AllowedRoles: []string{"AGENT", "MANAGER"}},
		postgrestest.GroupSetting{EntityType: "AGENCY", EntityID: "8", Channel: notification.SMS, Off: true},
		postgrestest.GroupSetting{EntityType: "CUSTOMER", EntityID: "0", Channel: notification.Push, Off: true},
		postgrestest.GroupSetting{EntityType: "CUSTOMER", EntityID: "100", Channel: notification.Push, Off: true})
	postgrestest.Exec(t, s, `
		UPDATE entity_notification_settings
		SET    quiet_hours_start = '22:00', quiet_hours_end = '07:00', quiet_hours_timezone = 'Europe/Rome'
		WHERE  entity_type = 'AGENCY'`)
	night := &notification.QuietHours{Start: 22 * time.Hour, End: 7 * time.Hour}

	page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: roomtest.Restaurant5}, {Entity: agency7}},
		notification.Cursor{}, 10))(t)
	require.ElementsMatch(t, []notification.Setting{
		{Entity: roomtest.Restaurant5, Channel: notification.Email},
		{Entity: roomtest.Restaurant5, Channel: notification.Email, EventSpecific: true, Enabled: true, MaxRecipients: new(0),
			AllowedRoles: []string{}},
		{Entity: agency7, Channel: notification.SMS, Enabled: true, MaxRecipients: new(3), AllowedRoles: []string{"AGENT", "MANAGER"},
			QuietHours: night, QuietTimezone: "Europe/Rome"},
		{Entity: notification.Entity{Type: "CUSTOMER", ID: "0"}, Channel: notification.Push},
	}, page.Settings)
}

// There are 2,500 recipients of every type. Their ids include equal numbers, and numbers of any
// length. The pages contain each recipient once, in one order.
func TestRecipientsOfABroadcast(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 2500, postgrestest.Recipient{}, postgrestest.Expressions{
		"user_type": "(ARRAY ['RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST'])[1 + i % 5]",
		"user_id": "CASE i % 7 WHEN 0 THEN 'user-' || i WHEN 1 THEN '00' || i / 10 || '-' || i WHEN 2 THEN repeat('9', 20) || i " +
			"ELSE (i / 5)::text END",
	})

	all := roomtest.AllPages(t, s, []notification.Target{{Entity: roomtest.Everybody}}, 100)
	require.Len(t, all, 2500)
	require.Equal(t, postgrestest.List(t, s, `
		SELECT u.who || r.user_id
		FROM   recipient r
		JOIN   user_type u USING (user_type)
		ORDER BY CASE WHEN r.user_id ~ '^[0-9]{1,18}$' THEN r.user_id::bigint END, r.user_id, user_type`), roomtest.Names(all))
}

// The last page of 20,000 recipients costs as much as the first, whatever the planner
// knows of the tables. This holds for a broadcast, for one type, for one entity, for its
// followers and for several targets, of which people mute some.
func TestLastPageOfALargeDirectory(t *testing.T) {
	t.Parallel()

	const all = 20_000
	s := postgrestest.New(t)
	postgrestest.AddMany(t, s.Pool, 2*all, postgrestest.Recipient{}, postgrestest.Expressions{
		"user_type": "(ARRAY ['CUSTOMER', 'RESTAURANT_USER'])[1 + i % 2]", "user_id": "i",
	})
	odd := postgrestest.Expressions{"user_id": "2 * i - 1"}
	postgrestest.AddMany(t, s.Pool, all, postgrestest.Member{}, odd)
	postgrestest.AddMany(t, s.Pool, all, postgrestest.Follow{EntityType: "ORDER", EntityID: "7"}, odd)
	postgrestest.AddMany(t, s.Pool, all, postgrestest.Follow{}, odd)
	postgrestest.AddMany(t, s.Pool, all/2, postgrestest.Mute{}, postgrestest.Expressions{"user_id": "4 * i - 1"})
	listening, asked := roomtest.Heard(t, s)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			postgrestest.Exec(t, s, "ANALYZE recipient, entity_member, entity_follow, entity_mute, recipient_device, user_notification_preferences")
		}
		followers := notification.Target{Entity: notification.Entity{Type: "ORDER", ID: "7"}, Roles: []string{notification.Follower}}
		for _, targets := range [][]notification.Target{{{Entity: roomtest.Everybody}},
			{{Entity: roomtest.Everybody, UserType: notification.RestaurantUser}}, {{Entity: roomtest.Restaurant5}}, {followers},
			{{Entity: roomtest.Restaurant5, Roles: []string{"STAFF", notification.Follower}}},
			{{Entity: roomtest.Restaurant5}, followers},
			{followers, {Entity: roomtest.Restaurant5, Roles: []string{"STAFF", notification.Follower}}}} {
			cost := func(after notification.Cursor) int {
				asked.All = nil
				roomtest.Must(planner.On(listening).Recipients(t.Context(), "T", targets, after, 100))(t)
				return roomtest.BlocksOf(t, s, asked.All[1]) // after set_config
			}
			last := 2*all - 200
			first := cost(notification.Cursor{})
			late := cost(notification.Cursor{Rank: 1, Number: int64(last), UserID: strconv.Itoa(last), UserType: notification.RestaurantUser})
			t.Logf("%v, analyzed %v: %d blocks, then %d", targets, analyzed, first, late)
			require.Less(t, late, 2*first)
			require.Less(t, first, 6000, "a page has 100 recipients, with some 20 blocks each")
		}
	}
}

// A member with several roles, which views allow, comes once, with the best role: MANAGER, another role,
// FOLLOWER. If two targets name a member, the first one counts.
func TestRecipientsOfOverlappingTargets(t *testing.T) {
	t.Parallel()

	s := directory(t)
	postgrestest.Exec(t, s, "ALTER TABLE entity_member RENAME TO member")
	postgrestest.Exec(t, s, `
		CREATE VIEW entity_member AS
		SELECT entity_type, entity_id, user_type, user_id, r.role, active
		FROM   member m, unnest(ARRAY [NULL, 'FOLLOWER', m.role, 'STAFF']) AS r (role)
		WHERE  r.role = m.role
		OR     m.role IN ('MANAGER', 'ACCOUNTANT')`)
	targets := []notification.Target{{Entity: roomtest.Restaurant5}, {Entity: agency7}, {Entity: admins}, {Entity: roomtest.Everybody}}
	want := []string{"staff20 RESTAURANT MANAGER", "admin1 ADMIN ", "staff9 RESTAURANT STAFF", "staff10 RESTAURANT STAFF",
		"staff11 BROADCAST ", "agent30 RESTAURANT AGENT", "agent31 AGENCY AGENT", "agent32 AGENCY ACCOUNTANT", "customer100 BROADCAST ",
		"staffada RESTAURANT STAFF"}
	for _, limit := range []int{1, 2, 3, 100} {
		got := roomtest.Mapped(roomtest.AllPages(t, s, targets, limit), func(r notification.Recipient) string {
			return r.Who + r.UserID + " " + r.Entity.Type + " " + r.MemberRole
		})
		require.Equal(t, want, got)
	}
	for _, agent := range roomtest.AllPages(t, s, targets[1:2], 1) {
		require.Equal(t, map[string]string{"30": "MANAGER", "31": "AGENT", "32": "ACCOUNTANT"}[agent.UserID], agent.MemberRole)
	}
}

// withPatients returns a store with an additional user type.
func withPatients(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.UserType{Name: "PATIENT", Who: "patient", Audience: "clinic"})
	return s
}

// Everything that reads people by type also reads an added type.
func TestEveryReaderKnowsAnAddedUserType(t *testing.T) {
	t.Parallel()

	s := withPatients(t)
	clinic := notification.Entity{Type: "CLINIC", ID: "1"}
	roomtest.AddMember(t, s, clinic, "PATIENT", "7", "PATIENT")
	postgrestest.Add(t, s.Pool, postgrestest.Event{AggregateType: "APPOINTMENT", AggregateID: "1"})
	postgrestest.Add(t, s.Pool,
		postgrestest.Target{UserType: "PATIENT", EntityType: "CLINIC", EntityIDPath: "clinic"}, postgrestest.Target{})
	postgrestest.Add(t, s.Pool, postgrestest.Delivery{
		ID: "evt-1-patient7-WEBSOCKET", UserType: "PATIENT", UserID: "7", Channel: notification.WebSocket, Strategy: notification.Aggregate,
		DigestID: "digest-1",
	})

	for _, entity := range []notification.Entity{clinic, roomtest.Everybody} {
		page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: entity}}, notification.Cursor{}, 10))(t)
		require.Equal(t, []string{"patient7"}, roomtest.Names(page.Recipients))
		require.Empty(t, page.PassedOver)
	}
	_, rules, err := planner.On(s).Event(t.Context(), "evt-1")
	require.NoError(t, err)
	require.Equal(t, []string{"clinic", ""}, []string{rules[0].Audience, rules[1].Audience})
	require.Equal(t, "patient", roomtest.Must(attempt.On(s).DigestPlace(t.Context(), "evt-1-patient7-WEBSOCKET"))(t).Who)
	postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'IMMEDIATE'")
	require.Equal(t, "clinic", roomtest.Begin(t, s, "evt-1-patient7-WEBSOCKET", 0).Message.Audience)
}

// Changes of user_type that would break stored ids are refused, with advice.
func TestUserTypeInUseIsKept(t *testing.T) {
	t.Parallel()

	s := withPatients(t)
	postgrestest.Exec(t, s, `UPDATE user_type SET who = 'sick', audience = 'hospital' WHERE user_type = 'PATIENT'`)
	postgrestest.Exec(t, s, `UPDATE user_type SET who = 'patient' WHERE user_type = 'PATIENT'`)
	postgrestest.Add(t, s.Pool, postgrestest.UserType{Name: "ROBOT", Who: "robot", Audience: "robot"})
	postgrestest.Exec(t, s, `DELETE FROM user_type WHERE user_type = 'ROBOT'`)
	postgrestest.Add(t, s.Pool, postgrestest.Delivery{ID: "evt-1-patient7-EMAIL", UserType: "PATIENT", UserID: "7"})
	const insert = "INSERT INTO user_type (user_type, who, audience) VALUES "
	const used, differs = "another user type", "differs earlier"
	tests := []struct{ name, sql, want, hint string }{
		{name: "changed who", sql: `UPDATE user_type SET who = 'sick' WHERE user_type = 'PATIENT'`,
			want: "user type PATIENT is in use: there are notifications", hint: used},
		{name: "changed audience", sql: `UPDATE user_type SET audience = 'sick' WHERE user_type = 'PATIENT'`,
			want: "user type PATIENT is in use", hint: used},
		{name: "deleted, with notifications", sql: `DELETE FROM user_type WHERE user_type = 'PATIENT'`,
			want: "user type PATIENT is in use", hint: used},
		{name: "deleted, with rules", sql: `DELETE FROM user_type WHERE user_type = 'GUEST'`, want: "channel_user_type_user_type"},
		{name: "who that begins with another type's who", sql: insert + `('OUTPATIENT', 'patientout', 'patient')`,
			want: "who patientout is too like patient of user type PATIENT", hint: differs},
		{name: "who that is a prefix of another type's who", sql: insert + `('STUDENT', 'st', 'student')`,
			want: "who st is too like staff of user type RESTAURANT_USER", hint: differs},
		{name: "who changed to begin with another type's who", sql: `UPDATE user_type SET who = 'guests' WHERE user_type = 'ADMIN'`,
			want: "who guests is too like guest", hint: differs},
	}
	for _, tt := range tests {
		_, err := s.Pool.Exec(t.Context(), tt.sql)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, tt.name)
		require.Contains(t, refused.Message, tt.want, tt.name)
		require.Contains(t, refused.Hint, tt.hint, tt.name)
	}
	postgrestest.Exec(t, s, `UPDATE user_type SET who = who`)
}
