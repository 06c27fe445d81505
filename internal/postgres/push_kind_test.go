package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// The kind of a push is the routing's of now, for single messages and digests
// alike; without a routing row it is the usual one.
func TestPushKind(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name, routing string
		push, mail    notification.PushKind
	}{
		{name: "without a row"},
		{name: "notification", routing: `('PUSH', 'NOTIFICATION'), ('EMAIL', 'NOTIFICATION')`, push: notification.PushNotification},
		{name: "data", routing: `('PUSH', 'DATA'), ('EMAIL', 'DATA')`, push: notification.PushData},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := postgrestest.New(t)
			emit(t, s, 1)
			addRecipient(t, s, notification.RestaurantUser, "10")
			if tt.routing != "" {
				exec(t, s, `
					INSERT INTO event_type_channel_routing (event_type, channel_type, push_kind)
					SELECT 'RESERVATION_REQUESTED', channel, kind
					FROM   (VALUES `+tt.routing+`) AS v (channel, kind)`)
			}
			savePlan(t, s, decided("10", planned(notification.Push), planned(notification.Email)))
			require.Equal(t, tt.push, begin(t, s, "evt-1-staff10-PUSH", 0).Message.PushKind)
			require.Equal(t, tt.mail, begin(t, s, "evt-1-staff10-EMAIL", 0).Message.PushKind)
		})
	}
}
