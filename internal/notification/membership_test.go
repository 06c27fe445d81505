package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestNotNamed(t *testing.T) {
	t.Parallel()

	customer := func(id string) notification.Entity {
		return notification.Entity{Type: notification.EntityCustomer, ID: id}
	}
	admins := notification.Entity{Type: notification.EntityAdmin, ID: "0"}
	everybody := notification.Entity{Type: notification.EntityBroadcast, ID: "0"}
	memberships := []notification.Membership{{restaurant5, "CHEF", true}, {agency10, "AGENT", false}}
	tests := []struct {
		name     string
		userType notification.UserType
		userID   string
		targets  []notification.Target
		reasons  []string
	}{
		{"a member", notification.RestaurantUser, "10", []notification.Target{{Entity: restaurant5}}, nil},
		{"a member in a role", notification.RestaurantUser, "10", []notification.Target{{Entity: restaurant5, Roles: []string{"MANAGER", "CHEF"}}}, nil},
		{"a member in another role", notification.RestaurantUser, "10", []notification.Target{{Entity: restaurant5, Roles: []string{"MANAGER"}}},
			[]string{"of RESTAURANT/5 only the roles MANAGER are told, and theirs is CHEF"}},
		{"a member of another type", notification.RestaurantUser, "10", []notification.Target{{Entity: restaurant5, UserType: notification.AgencyUser}},
			[]string{"of RESTAURANT/5 only recipients of type AGENCY_USER are told"}},
		{"no longer a member", notification.RestaurantUser, "10", []notification.Target{{Entity: agency10}},
			[]string{"their membership of AGENCY/10 is not active"}},
		{"no member", notification.RestaurantUser, "10", []notification.Target{{Entity: notification.Entity{Type: "RESTAURANT", ID: "6"}}},
			[]string{"they are no member of RESTAURANT/6"}},
		{"the customer", notification.Customer, "42", []notification.Target{{Entity: customer("42")}}, nil},
		{"another customer", notification.Customer, "42", []notification.Target{{Entity: customer("43")}},
			[]string{"it concerns CUSTOMER/43"}},
		{"an admin", notification.Admin, "1", []notification.Target{{Entity: admins}}, nil},
		{"no admin", notification.Customer, "1", []notification.Target{{Entity: admins}}, []string{"only admins are told"}},
		{"everybody", notification.Guest, "90", []notification.Target{{Entity: everybody}}, nil},
		{"the first that names them", notification.RestaurantUser, "10", []notification.Target{{Entity: customer("10")}, {Entity: restaurant5}, {Entity: everybody}}, nil},
		{"nobody", notification.Guest, "90", nil, []string{"the event names nobody"}},
	}
	for _, tt := range tests {
		entry := notification.DirectoryEntry{Recipient: notification.Recipient{UserType: tt.userType, UserID: tt.userID}, Memberships: memberships}
		require.Equal(t, tt.reasons, notification.NotNamed(tt.targets, entry), tt.name)
	}
}
