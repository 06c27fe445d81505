package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

var agency10 = notification.Entity{Type: "AGENCY", ID: "10"}

func TestNotNamed(t *testing.T) {
	t.Parallel()

	customer := func(id string) notification.Entity {
		return notification.Entity{Type: notification.EntityCustomer, ID: id}
	}
	admins := notification.Entity{Type: notification.EntityAdmin, ID: "0"}
	everybody := notification.Entity{Type: notification.EntityBroadcast, ID: "0"}
	agency20 := notification.Entity{Type: "AGENCY", ID: "20"}
	memberships := []notification.Membership{
		{Entity: restaurant5, Role: "CHEF", Active: true}, {Entity: restaurant5, Role: "WAITER", Active: true},
		{Entity: restaurant5, Role: "OWNER"}, {Entity: agency10, Role: "AGENT"},
		{Entity: agency20, Role: "FOLLOWER", Active: true, Follows: true},
	}
	tests := []struct {
		name     string
		userType notification.UserType
		userID   string
		targets  []notification.Target
		reasons  []string
	}{
		{name: "a member", userType: notification.RestaurantUser, userID: "10", targets: []notification.Target{{Entity: restaurant5}}},
		{name: "a member in a role", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, Roles: []string{"MANAGER", "CHEF"}}}},
		{name: "a member in another of their roles", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, Roles: []string{"WAITER"}}}},
		{name: "a member in another role", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, Roles: []string{"MANAGER"}}},
			reasons: []string{"RESTAURANT/5: only the roles MANAGER are told, and theirs is CHEF, WAITER"}},
		{name: "a member in a role that is not active", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, Roles: []string{"OWNER"}}},
			reasons: []string{"RESTAURANT/5: only the roles OWNER are told, and theirs is CHEF, WAITER"}},
		{name: "a member of another type", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, UserType: notification.AgencyUser}},
			reasons: []string{"RESTAURANT/5: only recipients of type AGENCY_USER are told"}},
		{name: "no longer a member", userType: notification.RestaurantUser, userID: "10", targets: []notification.Target{{Entity: agency10}},
			reasons: []string{"their membership of AGENCY/10 is not active"}},
		{name: "not a member", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: notification.Entity{Type: "RESTAURANT", ID: "6"}}},
			reasons: []string{"they are not a member of RESTAURANT/6"}},
		{name: "a follower", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: agency20, Roles: []string{"AGENT", "FOLLOWER"}}}},
		{name: "a follower of an event for members", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: agency20}}, reasons: []string{"they follow AGENCY/20, and its roles do not name FOLLOWER"}},
		{name: "a member who does not follow", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: restaurant5, Roles: []string{"FOLLOWER"}}},
			reasons: []string{"RESTAURANT/5: only the roles FOLLOWER are told, and theirs is CHEF, WAITER"}},
		{name: "the customer", userType: notification.Customer, userID: "42", targets: []notification.Target{{Entity: customer("42")}}},
		{name: "another customer", userType: notification.Customer, userID: "42", targets: []notification.Target{{Entity: customer("43")}},
			reasons: []string{"it concerns CUSTOMER/43"}},
		{name: "an admin", userType: notification.Admin, userID: "1", targets: []notification.Target{{Entity: admins}}},
		{name: "not an admin", userType: notification.Customer, userID: "1", targets: []notification.Target{{Entity: admins}},
			reasons: []string{"only admins are told"}},
		{name: "everybody", userType: notification.Guest, userID: "90", targets: []notification.Target{{Entity: everybody}}},
		{name: "a later target names them", userType: notification.RestaurantUser, userID: "10",
			targets: []notification.Target{{Entity: customer("10")}, {Entity: restaurant5}, {Entity: everybody}}},
		{name: "no targets", userType: notification.Guest, userID: "90", reasons: []string{"the event names nobody"}},
	}
	for _, tt := range tests {
		entry := notification.DirectoryEntry{
			Recipient: notification.Recipient{UserType: tt.userType, UserID: tt.userID}, Memberships: memberships,
		}
		require.Equal(t, tt.reasons, notification.NotNamed(tt.targets, entry), tt.name)
	}
}
