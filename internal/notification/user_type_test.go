package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestUserTypes(t *testing.T) {
	t.Parallel()

	tests := []struct {
		userType notification.UserType
		id       string
		audience string
	}{
		{userType: notification.RestaurantUser, id: "evt-1-staff10-EMAIL", audience: "restaurant"},
		{userType: notification.Customer, id: "evt-1-customer10-EMAIL", audience: "customer"},
		{userType: notification.AgencyUser, id: "evt-1-agent10-EMAIL", audience: "agency"},
		{userType: notification.Admin, id: "evt-1-admin10-EMAIL", audience: "admin"},
		{userType: notification.Guest, id: "evt-1-guest10-EMAIL", audience: "guest"},
	}
	require.Len(t, notification.UserTypes(), len(tests))
	for i, tt := range tests {
		require.Equal(t, tt.userType, notification.UserTypes()[i])
		require.Equal(t, tt.id, notification.DeliveryID("evt-1", tt.userType, "10", notification.Email))
		require.Equal(t, tt.audience, tt.userType.Audience())
	}
	require.Equal(t, "evt-1-patient10-EMAIL", notification.DeliveryID("evt-1", "PATIENT", "10", notification.Email), "an unknown type")
	require.Empty(t, notification.UserType("PATIENT").Audience())
}
