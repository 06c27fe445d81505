package roomtest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
)

var Restaurant5 = notification.Entity{Type: notification.EntityRestaurant, ID: "5"}

var Everybody = notification.Entity{Type: notification.EntityBroadcast, ID: "0"}

func Staff(id string) notification.RecipientKey {
	return notification.RecipientKey{UserType: notification.RestaurantUser, UserID: id}
}

var Staff10 = notification.RecipientKey{UserType: notification.RestaurantUser, UserID: "10"}

var Customer7 = notification.RecipientKey{UserType: notification.Customer, UserID: "7"}

// AlwaysQuiet is the wish of staff 10 to get no e-mail at any hour.
var AlwaysQuiet = postgrestest.Preference{QuietStart: "00:00", QuietEnd: "23:59:59.999999"}

// AddRecipient writes an active recipient without any address.
func AddRecipient(t *testing.T, s *db.DB, userType notification.UserType, userID string) {
	t.Helper()
	postgrestest.AddMissing(t, s.Pool, postgrestest.Recipient{UserType: userType, UserID: userID})
}

// AddRecipientOnce adds staff 10 to the directory, unless they are there.
func AddRecipientOnce(t *testing.T, s *db.DB) {
	t.Helper()
	postgrestest.AddMissing(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Email: "ada@example.com"})
}

// AddMember writes an active recipient who is an active member of an entity.
func AddMember(t *testing.T, s *db.DB, entity notification.Entity, userType notification.UserType, userID, role string) {
	t.Helper()
	AddRecipient(t, s, userType, userID)
	postgrestest.Add(t, s.Pool, postgrestest.Member{EntityType: entity.Type, EntityID: entity.ID, UserType: userType, UserID: userID,
		Role: role})
}

func AllPages(t *testing.T, s *db.DB, targets []notification.Target, limit int) []notification.Recipient {
	t.Helper()
	var all []notification.Recipient
	var after notification.Cursor
	for {
		page := Must(planner.On(s).Recipients(t.Context(), "T", targets, after, limit))(t)
		require.LessOrEqual(t, len(page.Recipients), limit)
		all = append(all, page.Recipients...)
		if page.Next == nil {
			return all
		}
		require.Len(t, page.Recipients, limit, "only the last page may be short")
		after = *page.Next
	}
}

// Names returns the recipients as in delivery ids.
func Names(recipients []notification.Recipient) []string {
	return Mapped(recipients, func(r notification.Recipient) string { return r.Who + r.UserID })
}

// foreignDirectory replaces the directory with views over an application's tables. Their ids
// are numbers and uuids, their words are enums, and all columns may be NULL. Restaurant 5
// has a name, customer 7, who has only a number, and the waiter ada, who is also its manager. Some
// rows have no id, or a strange one.
const foreignDirectory = `
	DROP TABLE entity_member, recipient_device, recipient, entity_name;
	CREATE TYPE kind AS ENUM ('CUSTOMER', 'RESTAURANT_USER');
	CREATE TYPE job AS ENUM ('WAITER', 'MANAGER', 'COOK');
	CREATE TABLE guest (id bigint, mail varchar(100), enabled int);
	CREATE TABLE waiter (id uuid, enabled boolean);
	CREATE TABLE phone (owner uuid, token varchar(100), enabled boolean);
	CREATE TABLE job_of (restaurant bigint, waiter uuid, job job, enabled boolean);
	CREATE TYPE place AS ENUM ('RESTAURANT');
	CREATE TABLE sign (restaurant bigint, words varchar(300));
	CREATE VIEW recipient AS
	SELECT 'CUSTOMER'::kind AS user_type, id::text AS user_id, NULL AS name, mail AS email, NULL AS phone, NULL AS slack_webhook_url,
	       NULL AS locale, NULL::varchar AS timezone, enabled::boolean AS active
	FROM   guest
	UNION ALL
	SELECT 'RESTAURANT_USER'::kind, id::text, NULL, NULL, NULL, NULL, NULL, NULL, enabled FROM waiter;
	CREATE VIEW recipient_device AS SELECT 'RESTAURANT_USER'::kind AS user_type, owner AS user_id, token, enabled AS active FROM phone;
	CREATE VIEW entity_member AS
	SELECT 'RESTAURANT'::name AS entity_type, restaurant AS entity_id, 'RESTAURANT_USER'::kind AS user_type, waiter AS user_id, job AS role,
	       enabled AS active
	FROM   job_of;
	CREATE VIEW entity_name AS SELECT 'RESTAURANT'::place AS entity_type, restaurant AS entity_id, words AS name FROM sign;
	INSERT INTO guest VALUES (7, NULL, 1), (8, 'gone@example.com', NULL), (NULL, 'nobody@example.com', 1);
	INSERT INTO waiter VALUES ('ada00000-0000-0000-0000-000000000000', true), ('b0b00000-0000-0000-0000-000000000000', NULL), (NULL, true);
	INSERT INTO phone VALUES ('ada00000-0000-0000-0000-000000000000', 'token', true), ('ada00000-0000-0000-0000-000000000000', 'token', true),
	                         ('ada00000-0000-0000-0000-000000000000', NULL, true), ('ada00000-0000-0000-0000-000000000000', 'off', NULL);
	INSERT INTO job_of VALUES (5, 'ada00000-0000-0000-0000-000000000000', 'WAITER', true),
	                          (5, 'ada00000-0000-0000-0000-000000000000', 'MANAGER', true),
	                          (5, 'ada00000-0000-0000-0000-000000000000', 'COOK', NULL),
	                          (5, 'ada00000-0000-0000-0000-000000000000', NULL, true), (5, NULL, 'WAITER', true);
	INSERT INTO sign VALUES (5, 'Trattoria'), (6, repeat('x', 300)), (7, NULL), (NULL, 'Nowhere')`

const Ada = "ada00000-0000-0000-0000-000000000000"

func InForeignDirectory(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	postgrestest.Exec(t, s, foreignDirectory)
	return s
}
