package db_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/event"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// DirectoryColumns lists the columns that the statements read, with the types of their
// casts.
func TestDirectoryColumns(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	for table, relation := range db.DirectoryRelations {
		var want, got []string
		for _, column := range db.DirectoryColumns() {
			if column.Table == table {
				want = append(want, column.Name+" "+column.Type)
			}
		}
		rows := roomtest.Must(s.Pool.Query(t.Context(), "SELECT * FROM "+relation+" d"))(t)
		for _, field := range rows.FieldDescriptions() {
			kind, _ := rows.Conn().TypeMap().TypeForOID(field.DataTypeOID)
			got = append(got, field.Name+" "+strings.Replace(kind.Name, "bool", "boolean", 1))
		}
		rows.Close()
		require.Equal(t, want, got, table)
	}
}

// A query finds every active person with an id, once, in all their roles, with any types
// and any number of NULLs.
func TestRecipientsOfAForeignDirectory(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	waiter := notification.Recipient{
		UserType: notification.RestaurantUser, Who: "staff", UserID: roomtest.Ada, Entity: roomtest.Restaurant5, Roles: []string{"MANAGER",
			"WAITER"}, EntityName: "Trattoria", MemberRole: "MANAGER", HasDevice: true, Preferences: []notification.Preference{},
	}
	onlyWaiter := waiter
	onlyWaiter.MemberRole = "WAITER"
	guest := notification.Recipient{UserType: notification.Customer, Who: "customer", UserID: "7", Entity: roomtest.Everybody,
		Preferences: []notification.Preference{}}
	tests := []struct {
		name   string
		target notification.Target
		want   []notification.Recipient
	}{
		{name: "all of an entity", target: notification.Target{Entity: roomtest.Restaurant5}, want: []notification.Recipient{waiter}},
		{name: "in one of their roles", target: notification.Target{Entity: roomtest.Restaurant5, Roles: []string{"WAITER"}},
			want: []notification.Recipient{onlyWaiter}},
		{name: "in a role that is not active", target: notification.Target{Entity: roomtest.Restaurant5, Roles: []string{"COOK"}}},
		{name: "everybody of a type", target: notification.Target{Entity: roomtest.Everybody, UserType: notification.Customer},
			want: []notification.Recipient{guest}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want,
			roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{tt.target}, notification.Cursor{},
				10))(t).Recipients, tt.name)
	}
}

// A name of a view is as short as a name of Herald's table. NULL is no name.
func TestNamesOfAForeignDirectory(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	for id, want := range map[string]string{"5": "Trattoria", "6": strings.Repeat("x", 200), "7": "", "8": ""} {
		require.Equal(t, want, postgrestest.Get[string](t, s,
			"SELECT "+db.EntityName+" FROM (SELECT 'RESTAURANT' AS entity_type, $1::text AS entity_id) n", id))
	}
}

// Rows of a view that Herald's own tables would refuse are skipped, or taken once.
func TestRecipientsThatTablesRefuse(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Exec(t, s, "ALTER TABLE recipient RENAME TO recipient_before")
	postgrestest.Exec(t, s, `
		CREATE VIEW recipient AS
		SELECT *
		FROM   (VALUES ('CUSTOMER', '1', NULL, NULL, NULL, NULL, NULL, NULL, true),
		               ('CUSTOMER', '1', 'twice', NULL, NULL, NULL, NULL, NULL, true),
		               ('CUSTOMER', repeat('x', 65), 'long', NULL, NULL, NULL, NULL, NULL, true),
		               ('CUSTOMER', E'1\n', 'unprintable', NULL, NULL, NULL, NULL, NULL, true),
		               ('CUSTOMER', '', 'none', NULL, NULL, NULL, NULL, NULL, true),
		               ('ROBOT', '2', 'unknown', NULL, NULL, NULL, NULL, NULL, true))
		       AS r (user_type, user_id, name, email, phone, slack_webhook_url, locale, timezone, active)`)
	for _, target := range []notification.Entity{roomtest.Everybody, {Type: notification.EntityCustomer, ID: "1"}} {
		require.Equal(t, []string{"customer1"}, roomtest.Names(roomtest.AllPages(t, s, []notification.Target{{Entity: target}}, 1)))
	}
	page := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: roomtest.Everybody}},
		notification.Cursor{}, 10))(t)
	require.Equal(t, []notification.PassedOver{
		{Entity: roomtest.Everybody, UserType: notification.Customer, Known: true, Count: 3}, {Entity: roomtest.Everybody,
			UserType: "ROBOT", Count: 1},
	}, page.PassedOver)
	for _, id := range []string{strings.Repeat("x", 65), "1\n", ""} {
		target := notification.Target{Entity: notification.Entity{Type: notification.EntityCustomer, ID: id}}
		require.Empty(t, roomtest.AllPages(t, s, []notification.Target{target}, 1), "%q", id)
	}
	roomtest.SavePlan(t, s, roomtest.Decided("10", roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE notification SET user_type = 'CUSTOMER', user_id = '1'")
	require.Len(t, roomtest.Must(attempt.On(s).Undelivered(t.Context(), roomtest.Event1.ID, 10))(t), 1,
		"a person with two rows gets one delivery")
}

// An attempt, a digest and an explanation read the same facts, however long a message waited.
func TestAttemptsInAForeignDirectory(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	const push, mail = "evt-1-staff" + roomtest.Ada + "-PUSH", "evt-1-staff" + roomtest.Ada + "-EMAIL"
	roomtest.SavePlan(t, s, roomtest.Decided(roomtest.Ada, roomtest.Planned(notification.Push), roomtest.Planned(notification.Email)))
	postgrestest.Exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = '5'")
	postgrestest.Exec(t, s, "UPDATE notification SET recipient_address = NULL WHERE channel = 'PUSH'")
	postgrestest.Add(t, s.Pool,
		postgrestest.GroupSetting{Channel: notification.Push, AllowedRoles: []string{"WAITER"}},
		postgrestest.GroupSetting{AllowedRoles: []string{"COOK"}})

	postgrestest.Exec(t, s, roomtest.Past)
	judged := roomtest.Begin(t, s, mail, 0)
	require.Equal(t, string(notification.DecisionRoleRestricted), judged.Dropped, "an inactive role does not count")
	message := roomtest.Begin(t, s, push, 0).Message
	require.Equal(t, []string{"token"}, message.Devices, "each device once")
	require.Equal(t, "Trattoria", message.EntityName)
	postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE' WHERE channel = 'PUSH'")

	key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: roomtest.Ada, Channel: notification.Push,
		EventType: roomtest.Event1.Type}
	roomtest.Seal(t, s, "digest-1", key)
	begun := roomtest.BeginDigest(t, s, "digest-1", key)
	require.Len(t, begun.Begun, 1, "a waiter may also be a manager")
	require.Equal(t, []string{"token"}, begun.Message().Devices)

	entry := roomtest.Must(planner.On(s).DirectoryEntry(t.Context(), notification.RestaurantUser, roomtest.Ada,
		[]notification.Target{{Entity: roomtest.Restaurant5}}))(t)
	require.True(t, entry.Known && entry.Active)
	require.Len(t, entry.Memberships, 4)
	entry = roomtest.Must(planner.On(s).DirectoryEntry(t.Context(), notification.Customer, "8", nil))(t)
	require.True(t, entry.Known && !entry.Active, "NULL in active means no")
	roomtest.Must(attempt.On(s).Reopening(t.Context(), push))(t)
	require.NoError(t, roomtest.ErrOfTwo(event.On(s).StuckDeliveries(t.Context(), 0, notification.StuckScan{To: time.Now(), Limit: 10})))
}

// If a dead token cannot be switched off, the attempt says so. The ends of the attempt
// and of the message are still recorded.
func TestDeadTokensOfAForeignDirectory(t *testing.T) {
	t.Parallel()

	const push = "evt-1-staff" + roomtest.Ada + "-PUSH"
	tests := []struct {
		name string
		sql  string // the application's tables or views of devices
		says string // empty: the token is switched off
	}{
		{name: "a view of one table"},
		{name: "active is a number", sql: `
			ALTER TABLE phone ALTER enabled TYPE int USING enabled::int;
			CREATE VIEW recipient_device AS SELECT 'RESTAURANT_USER'::kind AS user_type, owner AS user_id, token, enabled AS active FROM phone`},
		{name: "a view of no table", says: "cannot be updated", sql: `
			CREATE VIEW recipient_device AS SELECT DISTINCT 'RESTAURANT_USER' AS user_type, owner AS user_id, token, enabled AS active FROM phone`},
		{name: "active is computed", says: "cannot be updated", sql: `
			CREATE VIEW recipient_device AS SELECT 'RESTAURANT_USER' AS user_type, owner AS user_id, token, enabled AND true AS active FROM phone`},
		{name: "no permission", says: "GRANT UPDATE (active)", sql: `
			CREATE VIEW recipient_device AS SELECT 'RESTAURANT_USER' AS user_type, owner AS user_id, token, enabled AS active FROM phone;
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''Ada may not'' USING ERRCODE = ''42501''; END';
			CREATE TRIGGER refuse INSTEAD OF UPDATE ON recipient_device FOR EACH ROW EXECUTE FUNCTION refuse()`},
		{name: "another refusal", says: "SQLSTATE P0001", sql: `
			CREATE VIEW recipient_device AS SELECT 'RESTAURANT_USER' AS user_type, owner AS user_id, token, enabled AS active FROM phone;
			CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''Ada may not''; END';
			CREATE TRIGGER refuse INSTEAD OF UPDATE ON recipient_device FOR EACH ROW EXECUTE FUNCTION refuse()`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := roomtest.InForeignDirectory(t)
			if tt.sql != "" {
				postgrestest.Exec(t, s, "DROP VIEW recipient_device")
				postgrestest.Exec(t, s, tt.sql)
			}
			roomtest.SavePlan(t, s, roomtest.Decided(roomtest.Ada, roomtest.Planned(notification.Push)))
			begun := roomtest.Begin(t, s, push, 0)

			recorded := roomtest.EndGroup(t, s, []notification.AttemptResult{{
				DeliveryID: push, Number: begun.Number, Outcome: notification.OutcomeSent, ProviderStatus: 200, DeadDevices: []string{"token"},
			}})[0]

			require.Equal(t, notification.Sent, notification.Status(roomtest.Delivery(t, s, push).Status))
			detail := postgrestest.Get[string](t, s, "SELECT coalesce(detail, '') FROM delivery_attempt WHERE outcome = 'SENT'")
			require.Equal(t, detail, recorded.DeadTokensKept)
			if tt.says == "" {
				require.Empty(t, detail)
				require.Equal(t, 0, postgrestest.Get[int](t, s, "SELECT count(*) FROM recipient_device WHERE token = 'token' AND active::boolean"))
				return
			}
			require.Contains(t, detail, "recipient_device")
			require.Contains(t, detail, tt.says)
			require.NotContains(t, detail, "Ada")
		})
	}
}

// If an application locks the row of a device, the attempt ends without switching the token off.
func TestDeadTokenThatIsLocked(t *testing.T) {
	t.Parallel()

	const push = "evt-1-staff" + roomtest.Ada + "-PUSH"
	s := roomtest.InForeignDirectory(t)
	roomtest.SavePlan(t, s, roomtest.Decided(roomtest.Ada, roomtest.Planned(notification.Push)))
	roomtest.Begin(t, s, push, 0)
	postgrestest.OpenTx(t, s, "SELECT FROM phone FOR UPDATE")

	recorded := roomtest.EndGroup(t, s,
		[]notification.AttemptResult{{DeliveryID: push, Number: 1, Outcome: notification.OutcomeRefused, Detail: "fcm refused",
			DeadDevices: []string{"token"}}})[0]

	require.Contains(t, recorded.DeadTokensKept, "in time")
	require.Equal(t, "fcm refused; "+recorded.DeadTokensKept,
		postgrestest.Get[string](t, s, "SELECT detail FROM delivery_attempt WHERE outcome = 'REFUSED'"))
}

// Every migration after the directory's migration runs and can be reverted, even if the directory
// consists of views.
func TestMigrateOverADirectoryOfViews(t *testing.T) {
	t.Parallel()

	s := roomtest.InForeignDirectory(t)
	migrator := postgrestest.Migrator(t, s)
	postgrestest.DownTo(t, migrator, "0002")

	postgrestest.Up(t, migrator)

	page, err := planner.On(s).Recipients(t.Context(), "T", []notification.Target{{Entity: roomtest.Restaurant5}}, notification.Cursor{}, 10)
	require.NoError(t, err)
	require.Len(t, page.Recipients, 1)
}
