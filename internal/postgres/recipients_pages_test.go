package postgres_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres"
	"herald/internal/postgres/postgrestest"
)

// The last page of 20,000 recipients costs what the first one does, of a
// broadcast, of all of one type and of one entity, whatever the planner knows of
// the tables.
func TestRecipientsLateInALargeDirectory(t *testing.T) {
	t.Parallel()

	const all = 20_000
	s := postgrestest.New(t)
	exec(t, s, "INSERT INTO recipient (user_type, user_id) SELECT (ARRAY ['CUSTOMER', 'RESTAURANT_USER'])[1 + i % 2], i::text FROM generate_series(1, 2 * $1::int) AS i", all)
	exec(t, s, `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', '5', user_type, user_id, 'STAFF' FROM recipient WHERE user_type = 'RESTAURANT_USER'`)
	for _, analyzed := range []bool{false, true} {
		if analyzed {
			exec(t, s, "ANALYZE recipient, entity_member, recipient_device, user_notification_preferences")
		}
		everybody := notification.Entity{Type: notification.EntityBroadcast, ID: "0"}
		for _, target := range []notification.Target{{Entity: everybody}, {Entity: everybody, UserType: notification.RestaurantUser}, {Entity: restaurant5}} {
			last := 2*all - 200
			first := postgres.PageCost(t.Context(), t, s, target, notification.Cursor{})
			late := postgres.PageCost(t.Context(), t, s, target, notification.Cursor{Rank: 1, Number: int64(last), UserID: strconv.Itoa(last), UserType: notification.RestaurantUser})
			t.Logf("%s, analyzed %v: %d blocks, then %d", target.Entity, analyzed, first, late)
			require.Less(t, late, 2*first)
			require.Less(t, first, 3000, "a page has 100 recipients, whom some 20 blocks concern each")
		}
	}
}

// A member who comes with several roles, as views may have it, comes once, as the
// best of them; and of those whom two targets name, the first tells.
func TestRecipientsOfOverlappingTargets(t *testing.T) {
	t.Parallel()

	s := directory(t)
	exec(t, s, "ALTER TABLE entity_member RENAME TO member")
	exec(t, s, `
		CREATE VIEW entity_member AS
		SELECT * FROM member
		UNION ALL
		SELECT entity_type, entity_id, user_type, user_id, 'STAFF', true FROM member WHERE role = 'MANAGER'`)
	targets := []notification.Target{{Entity: restaurant5}, {Entity: agency7}, {Entity: notification.Entity{Type: "ADMIN", ID: "0"}}, {Entity: notification.Entity{Type: "BROADCAST", ID: "0"}}}
	want := []string{"staff20 RESTAURANT", "admin1 ADMIN", "staff9 RESTAURANT", "staff10 RESTAURANT", "staff11 BROADCAST", "agent30 RESTAURANT", "agent31 AGENCY", "agent32 AGENCY", "customer100 BROADCAST", "staffada RESTAURANT"}
	for _, limit := range []int{1, 2, 3, 100} {
		var got []string
		for _, r := range allPages(t, s, targets, limit) {
			got = append(got, r.Who+r.UserID+" "+r.Entity.Type)
		}
		require.Equal(t, want, got)
	}
}
