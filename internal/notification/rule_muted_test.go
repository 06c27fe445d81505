package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// A person who has muted the entity hears only mandatory messages. A mute of the person's own entity does not
// count. A person who follows an entity for important
// messages also hears those with the priority HIGH. The priority of the person's preference does not count.
func TestMuted(t *testing.T) {
	t.Parallel()

	high := []notification.Preference{{Channel: notification.Email, Enabled: true, Priority: notification.High}}
	important := notification.Routing{Priority: notification.High}
	for name, tt := range map[string]struct {
		recipient notification.Recipient
		route     notification.Routing
		want      bool
	}{
		"neither":                          {},
		"muted":                            {recipient: notification.Recipient{Muted: true}, want: true},
		"muted and HIGH":                   {recipient: notification.Recipient{Muted: true}, route: important, want: true},
		"muted and mandatory":              {recipient: notification.Recipient{Muted: true}, route: notification.Routing{Mandatory: true}},
		"important":                        {recipient: notification.Recipient{ImportantOnly: true}, want: true},
		"important and LOW":                {recipient: notification.Recipient{ImportantOnly: true}, route: notification.Routing{Priority: notification.Low}, want: true},
		"important and HIGH":               {recipient: notification.Recipient{ImportantOnly: true}, route: important},
		"important and mandatory":          {recipient: notification.Recipient{ImportantOnly: true}, route: notification.Routing{Mandatory: true}},
		"important and their own priority": {recipient: notification.Recipient{ImportantOnly: true, Preferences: high}, want: true},
		"important, HIGH and muted": {recipient: notification.Recipient{ImportantOnly: true, Muted: true},
			route: important, want: true},
		"muted themselves": {recipient: notification.Recipient{Muted: true, UserID: "10",
			Entity: notification.Entity{Type: "RESTAURANT_USER", ID: "10"}}},
	} {
		tt.route.Channel, tt.recipient.Email = notification.Email, "a@example.com"
		tt.recipient.UserType = notification.RestaurantUser
		if tt.recipient.Entity.Type == "" {
			tt.recipient.Entity = restaurant5
		}
		setup := notification.EventSetup{
			Routing:   []notification.Routing{tt.route},
			Supported: map[notification.Channel][]notification.UserType{notification.Email: {notification.RestaurantUser}},
		}
		check := notification.AttemptCheck{Channel: notification.Email, Setup: setup, Recipient: tt.recipient, Known: true, Active: true, Member: true}
		planned, waited := setup.Facts(tt.recipient, notification.Email, noon, nil).Decision(), check.Evaluate(noon).Dropped
		if tt.want {
			require.Equal(t, notification.DecisionMuted, planned, name)
			require.Equal(t, string(notification.DecisionMuted), waited, name)
		} else {
			require.Equal(t, notification.DecisionSelected, planned, name)
			require.Empty(t, waited, name)
		}
		check.Ordered = true
		require.Empty(t, check.Evaluate(noon).Dropped, "an ordered retry ignores it: "+name)
	}
}
