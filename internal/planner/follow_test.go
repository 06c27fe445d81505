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
