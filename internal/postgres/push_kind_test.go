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

			exec(t, s, "UPDATE notification SET digest_id = 'digest-' || channel, status = 'PENDING'")
			for channel, want := range map[notification.Channel]notification.PushKind{notification.Push: tt.push, notification.Email: tt.mail} {
				key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: channel, EventType: "RESERVATION_REQUESTED"}
				attempt, err := s.BeginDigest(t.Context(), notification.BeginDigest{DigestID: "digest-" + string(channel), Key: key})
				require.NoError(t, err)
				require.Equal(t, want, attempt.Message.PushKind)
			}
		})
	}
}
