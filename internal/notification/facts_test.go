package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// A routing row can limit a channel to some roles of every entity, even a mandatory channel.
func TestDecideRolesOfRouting(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		roles     []string
		role      string
		mandatory bool
		want      notification.Decision
	}{
		{nil, "CHEF", false, notification.DecisionSelected},
		{[]string{"MANAGER", "CHEF"}, "CHEF", false, notification.DecisionSelected},
		{[]string{"MANAGER"}, "CHEF", false, notification.DecisionRoleRestricted},
		{[]string{"MANAGER"}, "CHEF", true, notification.DecisionRoleRestricted},
		{[]string{}, "MANAGER", false, notification.DecisionRoleRestricted},
	} {
		rules := notification.EventSetup{
			Routing: []notification.Routing{
				{Channel: notification.Email, Strategy: notification.Immediate, Mandatory: tt.mandatory, Roles: tt.roles},
			},
			Supported: map[notification.Channel][]notification.UserType{notification.Email: {notification.RestaurantUser}},
		}
		require.Equal(t, tt.want, rules.Decide(staff("1", tt.role), noon, notification.Used{})[0].Decision, "%+v", tt)
	}
}

// Each case has one channel, so the decision shows which row of entity_notification_settings
// applies.
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
		{name: "general row", recipient: staff("1", "CHEF"), settings: []notification.Setting{row(restaurant5, false, false)},
			want: notification.DecisionGroupDisabled},
		{name: "specific row beats general row", recipient: staff("1", "CHEF"),
			settings: []notification.Setting{row(restaurant5, false, false), row(restaurant5, true, true)}, want: notification.DecisionSelected},
		{name: "specific row beats general row, other order", recipient: staff("1", "CHEF"),
			settings: []notification.Setting{row(restaurant5, true, true), row(restaurant5, false, false)}, want: notification.DecisionSelected},
		{name: "specific row switches off", recipient: staff("1", "CHEF"),
			settings: []notification.Setting{row(restaurant5, false, true), row(restaurant5, true, false)},
			want:     notification.DecisionGroupDisabled},
		{name: "specific row removes the limit", recipient: staff("1", "CHEF"),
			settings: []notification.Setting{limited, row(restaurant5, true, true)}, want: notification.DecisionSelected},
		{name: "specific row removes the roles", recipient: staff("1", "CHEF"),
			settings: []notification.Setting{restricted, row(restaurant5, true, true)}, want: notification.DecisionSelected},
		{name: "limit of zero", recipient: staff("1", "CHEF"), settings: []notification.Setting{limited},
			want: notification.DecisionMaxRecipients},
		{name: "another role", recipient: staff("1", "CHEF"), settings: []notification.Setting{restricted},
			want: notification.DecisionRoleRestricted},
		{name: "an allowed role", recipient: staff("1", "MANAGER"), settings: []notification.Setting{restricted},
			want: notification.DecisionSelected},
		{name: "no role allowed", recipient: staff("1", "MANAGER"), settings: []notification.Setting{nobody},
			want: notification.DecisionRoleRestricted},
		{name: "another entity's row", recipient: staff("1", "CHEF"), settings: []notification.Setting{row(agency, false, false)},
			want: notification.DecisionSelected},
		{name: "another channel's row", recipient: staff("1", "CHEF"), settings: []notification.Setting{otherChannel},
			want: notification.DecisionSelected},
		{name: "customers' default", recipient: customer, settings: []notification.Setting{row(customers, false, false)},
			want: notification.DecisionGroupDisabled},
		{name: "customers' default for the event", recipient: customer,
			settings: []notification.Setting{row(customers, false, false), row(customers, true, true)}, want: notification.DecisionSelected},
		{name: "row for one customer", recipient: customer, settings: []notification.Setting{row(customer.Entity, false, false)},
			want: notification.DecisionSelected},
		{name: "restaurant's row for a customer", recipient: guestOfRestaurant, settings: []notification.Setting{row(restaurant5, false, false)},
			want: notification.DecisionSelected},
		{name: "customers' default for staff", recipient: staff("1", "CHEF"), settings: []notification.Setting{row(customers, false, false)},
			want: notification.DecisionSelected},
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
