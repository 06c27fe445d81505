package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Which row of entity_notification_settings holds: each case has one channel,
// and the decision tells.
func TestDecideSettings(t *testing.T) {
	t.Parallel()

	zero := 0
	agency := notification.Entity{Type: "AGENCY", ID: "5"}
	customers := notification.Entity{Type: "CUSTOMER", ID: "0"}
	customer := staff("42", "")
	customer.UserType, customer.Entity = notification.Customer, notification.Entity{Type: "CUSTOMER", ID: "42"}
	guestOfRestaurant := customer
	guestOfRestaurant.Entity = restaurant5

	row := func(e notification.Entity, specific, enabled bool) notification.Setting {
		return notification.Setting{Entity: e, Channel: notification.Email, EventSpecific: specific, Enabled: enabled}
	}
	limited := row(restaurant5, false, true)
	limited.MaxRecipients = &zero
	restricted := row(restaurant5, false, true)
	restricted.AllowedRoles = []string{"MANAGER"}
	nobody := row(restaurant5, false, true)
	nobody.AllowedRoles = []string{}
	otherChannel := row(restaurant5, true, false)
	otherChannel.Channel = notification.SMS

	tests := []struct {
		name      string
		recipient notification.Recipient
		settings  []notification.Setting
		want      notification.Decision
	}{
		{"general row", staff("1", "CHEF"), []notification.Setting{row(restaurant5, false, false)}, notification.DecisionGroupDisabled},
		{"specific row beats it", staff("1", "CHEF"), []notification.Setting{row(restaurant5, false, false), row(restaurant5, true, true)}, notification.DecisionSelected},
		{"in either order", staff("1", "CHEF"), []notification.Setting{row(restaurant5, true, true), row(restaurant5, false, false)}, notification.DecisionSelected},
		{"specific row switches off", staff("1", "CHEF"), []notification.Setting{row(restaurant5, false, true), row(restaurant5, true, false)}, notification.DecisionGroupDisabled},
		{"a row is replaced whole: limit", staff("1", "CHEF"), []notification.Setting{limited, row(restaurant5, true, true)}, notification.DecisionSelected},
		{"a row is replaced whole: roles", staff("1", "CHEF"), []notification.Setting{restricted, row(restaurant5, true, true)}, notification.DecisionSelected},
		{"limit of nobody", staff("1", "CHEF"), []notification.Setting{limited}, notification.DecisionMaxRecipients},
		{"another role", staff("1", "CHEF"), []notification.Setting{restricted}, notification.DecisionRoleRestricted},
		{"the role", staff("1", "MANAGER"), []notification.Setting{restricted}, notification.DecisionSelected},
		{"no role at all", staff("1", "MANAGER"), []notification.Setting{nobody}, notification.DecisionRoleRestricted},
		{"another entity's row", staff("1", "CHEF"), []notification.Setting{row(agency, false, false)}, notification.DecisionSelected},
		{"another channel's row", staff("1", "CHEF"), []notification.Setting{otherChannel}, notification.DecisionSelected},
		{"customers' default", customer, []notification.Setting{row(customers, false, false)}, notification.DecisionGroupDisabled},
		{"customers' default for the event", customer, []notification.Setting{row(customers, false, false), row(customers, true, true)}, notification.DecisionSelected},
		{"a customer has no row of their own", customer, []notification.Setting{row(customer.Entity, false, false)}, notification.DecisionSelected},
		{"a customer has no group", guestOfRestaurant, []notification.Setting{row(restaurant5, false, false)}, notification.DecisionSelected},
		{"nor has staff the customers' default", staff("1", "CHEF"), []notification.Setting{row(customers, false, false)}, notification.DecisionSelected},
	}
	for _, tt := range tests {
		rules := notification.EventSetup{
			Routing:   []notification.Routing{{Channel: notification.Email}},
			Supported: map[notification.Channel][]notification.UserType{notification.Email: {notification.RestaurantUser, notification.Customer}},
			Settings:  tt.settings,
		}
		require.Equal(t, tt.want, rules.Decide(tt.recipient, noon, notification.Used{})[0].Decision, tt.name)
	}
}
