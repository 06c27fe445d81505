package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestAudiences(t *testing.T) {
	t.Parallel()

	everyKind := []notification.EventRecipients{
		{EntityType: "BROADCAST"}, {UserType: notification.Admin, Audience: "admin", EntityType: "ADMIN"},
		{UserType: notification.AgencyUser, Audience: "agency", EntityType: "AGENCY"},
		{UserType: notification.Customer, Audience: "customer", EntityType: "CUSTOMER"},
		{UserType: notification.RestaurantUser, Audience: "restaurant", EntityType: "RESTAURANT"},
	}
	tests := []struct {
		name      string
		aggregate string
		rules     []notification.EventRecipients
		want      []string
	}{
		{name: "restaurant", aggregate: "RESTAURANT", want: []string{"restaurant"}},
		{name: "customer", aggregate: "CUSTOMER", want: []string{"customer"}},
		{name: "agency", aggregate: "AGENCY", want: []string{"agency"}},
		{name: "admin", aggregate: "ADMIN", want: []string{"admin"}},
		{name: "broadcast", aggregate: "BROADCAST", want: []string{"broadcast"}},
		{name: "the aggregate beats the rules", aggregate: "CUSTOMER", rules: everyKind, want: []string{"customer"}},
		{name: "domain aggregate without rules", aggregate: "RESERVATION"},
		{name: "every kind, in a fixed order", aggregate: "RESERVATION", rules: everyKind,
			want: []string{"restaurant", "customer", "agency", "admin", "broadcast"}},
		{name: "every audience once", aggregate: "RESERVATION", rules: append(everyKind[4:], everyKind[4], everyKind[3]),
			want: []string{"restaurant", "customer"}},
		{name: "the user type beats the entity", aggregate: "RESERVATION",
			rules: []notification.EventRecipients{{UserType: notification.Customer, Audience: "customer", EntityType: "RESTAURANT"}},
			want:  []string{"customer"}},
		{name: "customers of a broadcast", aggregate: "RESERVATION",
			rules: []notification.EventRecipients{{UserType: notification.Customer, Audience: "customer", EntityType: "BROADCAST"}},
			want:  []string{"customer"}},
		{name: "the entity, for any user type", aggregate: "RESERVATION",
			rules: []notification.EventRecipients{{EntityType: "AGENCY"}, {EntityType: "ADMIN"}}, want: []string{"agency", "admin"}},
		{name: "guests, who have no audience", aggregate: "RESERVATION",
			rules: []notification.EventRecipients{{UserType: notification.Guest, Audience: "guest", EntityType: "RESTAURANT"}}},
		{name: "an added user type, after the others", aggregate: "APPOINTMENT", rules: []notification.EventRecipients{
			{UserType: "PATIENT", Audience: "patient", EntityType: "CLINIC"},
			{UserType: notification.Admin, Audience: "admin", EntityType: "ADMIN"},
			{UserType: "PATIENT", Audience: "patient", EntityType: "BROADCAST"},
		}, want: []string{"admin", "patient"}},
		{name: "an entity type without an audience", aggregate: "RESERVATION", rules: []notification.EventRecipients{{EntityType: "TABLE"}}},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, notification.Audiences(notification.Event{AggregateType: tt.aggregate}, tt.rules), tt.name)
	}
}
