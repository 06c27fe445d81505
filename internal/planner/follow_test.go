package planner_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/roomtest"
)

// Followers are recipients where the roles name FOLLOWER. A member who follows comes once, as a member.
// A person comes with the first target through which they hear most.
func TestRecipientsWhoFollowOrMute(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	order := notification.Entity{Type: "ORDER", ID: "7"}
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: id, Inactive: id == "8"})
	}
	member := func(id, role string) postgrestest.Member { return postgrestest.Member{UserID: id, Role: role} }
	follow := func(id, kind, entity, level string) postgrestest.Follow {
		return postgrestest.Follow{UserID: id, EntityType: kind, EntityID: entity, Level: level}
	}
	mute := func(id, kind, entity string) postgrestest.Mute {
		return postgrestest.Mute{UserID: id, EntityType: kind, EntityID: entity}
	}
	postgrestest.Add(t, s.Pool,
		member("1", "STAFF"), member("2", "MANAGER"), member("3", "STAFF"), member("5", "STAFF"), member("6", "STAFF"),
		follow("2", "RESTAURANT", "5", "IMPORTANT"), follow("4", "RESTAURANT", "5", "ALL"), follow("7", "RESTAURANT", "5", "IMPORTANT"),
		follow("8", "RESTAURANT", "5", "ALL"),
		follow("3", "ORDER", "7", "ALL"), follow("5", "ORDER", "7", "IMPORTANT"), follow("6", "ORDER", "7", "ALL"),
		postgrestest.Member{EntityType: "CLUB", EntityID: "9", UserID: "7", Role: notification.Follower},
		follow("7", "CLUB", "9", "ALL"), follow("4", "CLUB", "9", "ALL"),
		mute("1", "RESTAURANT", "5"), mute("3", "ORDER", "7"), mute("6", "ORDER", "7"), mute("6", "RESTAURANT", "5"))

	const follower = notification.Follower
	staff, followers := notification.Target{Entity: roomtest.Restaurant5}, notification.Target{Entity: order, Roles: []string{follower}}
	both := notification.Target{Entity: roomtest.Restaurant5, Roles: []string{"MANAGER", "STAFF", follower}}
	onlyFollowers := notification.Target{Entity: roomtest.Restaurant5, Roles: []string{follower}}
	for name, tt := range map[string]struct {
		targets []notification.Target
		want    []string
	}{
		"any role": {[]notification.Target{staff}, []string{"2 MANAGER", "1 STAFF muted", "3 STAFF", "5 STAFF", "6 STAFF muted"}},
		"members or followers": {[]notification.Target{both},
			[]string{"2 MANAGER", "1 STAFF muted", "3 STAFF", "4 FOLLOWER", "5 STAFF", "6 STAFF muted", "7 FOLLOWER important"}},
		"followers": {[]notification.Target{onlyFollowers}, []string{"2 FOLLOWER important", "4 FOLLOWER", "7 FOLLOWER important"}},
		"a member with the role of followers": {
			[]notification.Target{{Entity: notification.Entity{Type: "CLUB", ID: "9"}, Roles: []string{follower}}},
			[]string{"4 FOLLOWER", "7 FOLLOWER"},
		},
		"followers, who are members of what comes later": {[]notification.Target{followers, staff},
			[]string{"2 MANAGER", "1 STAFF muted", "3 STAFF", "5 STAFF", "6 FOLLOWER muted"}},
		"members, who follow what comes later": {[]notification.Target{staff, followers},
			[]string{"2 MANAGER", "1 STAFF muted", "3 STAFF", "5 STAFF", "6 STAFF muted"}},
		"muted, but everybody is told": {[]notification.Target{staff, {Entity: roomtest.Everybody}},
			[]string{"2 MANAGER", "1", "3 STAFF", "4", "5 STAFF", "6", "7"}},
	} {
		for _, limit := range []int{1, 2, 100} {
			got := roomtest.Mapped(roomtest.AllPages(t, s, tt.targets, limit), func(r notification.Recipient) string {
				text := r.UserID
				if r.MemberRole != "" {
					text += " " + r.MemberRole
				}
				if r.Muted {
					text += " muted"
				}
				if r.ImportantOnly {
					text += " important"
				}
				return text
			})
			require.Equal(t, tt.want, got, name)
		}
		require.Equal(t, len(tt.want), roomtest.Must(planner.On(s).CountRecipients(t.Context(), tt.targets, 100))(t), name)
		for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
			page := roomtest.Must(planner.On(s).Named(t.Context(), "T", tt.targets, notification.RestaurantUser, id))(t)
			entry := roomtest.Must(planner.On(s).DirectoryEntry(t.Context(), notification.RestaurantUser, id, tt.targets))(t)
			named := slices.ContainsFunc(tt.want, func(text string) bool { return text[:1] == id })
			require.Equal(t, named, len(page.Recipients) == 1, "%s: %s", name, id)
			require.Equal(t, named, entry.Active && notification.NotNamed(tt.targets, entry) == nil, "%s: %s", name, id)
		}
	}
}

// A person's place does not depend on what they follow or mute. So everybody is decided about once, even
// if a manager changes both between two pages.
func TestPagesWhileAManagerFollowsAndMutes(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	for _, id := range []string{"1", "2", "3", "4"} {
		postgrestest.Add(t, s.Pool, postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: id},
			postgrestest.Follow{UserID: id, EntityType: "ORDER", EntityID: "7"})
	}
	postgrestest.Add(t, s.Pool, postgrestest.Member{UserID: "1", Role: "STAFF"}, postgrestest.Member{UserID: "3", Role: "MANAGER"},
		postgrestest.Member{UserID: "4", Role: "MANAGER"})
	const (
		mute     = "INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES ('RESTAURANT_USER', '3', 'RESTAURANT', '5')"
		unmute   = "DELETE FROM entity_mute"
		unfollow = "DELETE FROM entity_follow WHERE user_id = '3'"
		follow   = "INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id) VALUES ('RESTAURANT_USER', '3', 'ORDER', '7')"
	)
	restaurant := notification.Target{Entity: roomtest.Restaurant5}
	followers := notification.Target{Entity: notification.Entity{Type: "ORDER", ID: "7"}, Roles: []string{notification.Follower}}
	for _, change := range []struct{ from, to string }{
		{mute, unmute}, {unmute, mute}, {mute, unfollow}, {unfollow, follow}, {unmute, unfollow},
	} {
		for _, targets := range [][]notification.Target{{restaurant, followers}, {followers, restaurant}} {
			for pages := range 4 { // before the change
				postgrestest.Exec(t, s, unmute+"; "+unfollow+"; "+follow+"; "+change.from)
				var got []string
				for after, page := (&notification.Cursor{}), 0; after != nil; page++ {
					if page == pages {
						postgrestest.Exec(t, s, change.to)
					}
					next := roomtest.Must(planner.On(s).Recipients(t.Context(), "T", targets, *after, 1))(t)
					got, after = append(got, roomtest.Names(next.Recipients)...), next.Next
				}
				require.Equal(t, []string{"staff3", "staff4", "staff1", "staff2"}, got, "%s after %d pages", change, pages)
			}
		}
	}
}

// An event that names somebody directly tells them so, even if an earlier target names them as a follower:
// if they mute its entity while a delivery waits, nothing is cancelled. A membership counts in the order of the
// targets, unless they have muted it.
func TestRecipientsNamedDirectly(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	customer, admin := notification.Entity{Type: notification.EntityCustomer, ID: "7"}, admins
	roomtest.AddRecipient(t, s, notification.Customer, "7")
	roomtest.AddMember(t, s, agency7, notification.Admin, "1", "MANAGER")
	postgrestest.Add(t, s.Pool, postgrestest.Follow{UserType: notification.Customer, UserID: "7", EntityType: "ORDER", EntityID: "7"})
	targets := []notification.Target{
		{Entity: notification.Entity{Type: "ORDER", ID: "7"}, Roles: []string{notification.Follower}}, {Entity: agency7},
		{Entity: customer}, {Entity: admin},
	}
	for _, want := range []string{"1 AGENCY/7 MANAGER", "1 ADMIN/0 "} {
		if want == "1 ADMIN/0 " {
			postgrestest.Add(t, s.Pool, postgrestest.Mute{UserType: notification.Customer, UserID: "7", EntityType: "ORDER", EntityID: "7"},
				postgrestest.Mute{UserType: notification.Admin, UserID: "1", EntityType: "AGENCY", EntityID: "7"})
		}
		for _, limit := range []int{1, 10} {
			require.Equal(t, []string{want, "7 CUSTOMER/7 "}, roomtest.Mapped(roomtest.AllPages(t, s, targets, limit),
				func(r notification.Recipient) string { return r.UserID + " " + r.Entity.String() + " " + r.MemberRole }))
		}
	}
}

// A target for one type of people makes nobody of another type a follower, as an attempt has it.
func TestFollowersOfOneType(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	roomtest.AddMember(t, s, roomtest.Restaurant5, notification.RestaurantUser, "1", "STAFF")
	roomtest.AddRecipient(t, s, notification.Customer, "2")
	postgrestest.Add(t, s.Pool, postgrestest.Follow{UserID: "1"}, postgrestest.Follow{UserType: notification.Customer, UserID: "2"})
	targets := []notification.Target{{Entity: roomtest.Restaurant5},
		{Entity: roomtest.Restaurant5, UserType: notification.Customer, Roles: []string{notification.Follower}}}

	people := roomtest.AllPages(t, s, targets, 10)

	require.Equal(t, []string{"staff1", "customer2"}, roomtest.Names(people))
	require.Equal(t, []string{"STAFF"}, people[0].Roles)
	require.Equal(t, []string{notification.Follower}, people[1].Roles)
}
