package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestAudiences(t *testing.T) {
	t.Parallel()

	everyKind := []notification.EventRecipients{
		{EntityType: "BROADCAST"}, {UserType: notification.Admin, EntityType: "ADMIN"}, {UserType: notification.AgencyUser, EntityType: "AGENCY"},
		{UserType: notification.Customer, EntityType: "CUSTOMER"}, {UserType: notification.RestaurantUser, EntityType: "RESTAURANT"},
	}
	tests := []struct {
		name      string
		aggregate string
		rules     []notification.EventRecipients
		want      []string
	}{
		{"restaurant", "RESTAURANT", nil, []string{"restaurant"}},
		{"customer", "CUSTOMER", nil, []string{"customer"}},
		{"agency", "AGENCY", nil, []string{"agency"}},
		{"admin", "ADMIN", nil, []string{"admin"}},
		{"broadcast", "BROADCAST", nil, []string{"broadcast"}},
		{"the aggregate beats the rules", "CUSTOMER", everyKind, []string{"customer"}},
		{"domain aggregate without rules", "RESERVATION", nil, nil},
		{"every kind, in a fixed order", "RESERVATION", everyKind, []string{"restaurant", "customer", "agency", "admin", "broadcast"}},
		{"each once", "RESERVATION", append(everyKind[4:], everyKind[4], everyKind[3]), []string{"restaurant", "customer"}},
		{"the user type beats the entity", "RESERVATION", []notification.EventRecipients{{UserType: notification.Customer, EntityType: "RESTAURANT"}}, []string{"customer"}},
		{"customers of a broadcast", "RESERVATION", []notification.EventRecipients{{UserType: notification.Customer, EntityType: "BROADCAST"}}, []string{"customer"}},
		{"any user type: the entity", "RESERVATION", []notification.EventRecipients{{EntityType: "AGENCY"}, {EntityType: "ADMIN"}}, []string{"agency", "admin"}},
		{"guests have none", "RESERVATION", []notification.EventRecipients{{UserType: notification.Guest, EntityType: "RESTAURANT"}}, nil},
		{"an entity of nobody's", "RESERVATION", []notification.EventRecipients{{EntityType: "TABLE"}}, nil},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, notification.Audiences(notification.Event{AggregateType: tt.aggregate}, tt.rules), tt.name)
	}
}
