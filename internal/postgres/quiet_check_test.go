package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// A digest is judged by the quiet hours of each of the deliveries that it lists.
func TestQuietCheck(t *testing.T) {
	t.Parallel()

	const (
		staff    = "INSERT INTO recipient (user_type, user_id, timezone) VALUES ('RESTAURANT_USER', '10', 'Europe/Rome')"
		deferred = "INSERT INTO event_type_channel_routing (event_type, channel_type, quiet_hours_action) VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'DEFER'), ('RESERVATION_REQUESTED', 'SMS', 'DROP')"
		own      = `INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		            VALUES ('RESTAURANT_USER', '10', 'EMAIL', true, '22:30:15', '07:00'), ('RESTAURANT_USER', '10', 'SMS', true, '01:00', '02:00')`
		off   = "UPDATE user_notification_preferences SET quiet_hours_enabled = false"
		group = `INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, quiet_hours_start, quiet_hours_end, quiet_hours_timezone)
		         VALUES ('RESTAURANT', '5', 'EMAIL', NULL, '22:00', '07:00', 'Europe/Rome'), ('RESTAURANT', '5', 'SMS', NULL, '01:00', '02:00', NULL),
		                ('RESTAURANT', '6', 'EMAIL', NULL, '03:00', '04:00', NULL), ('CUSTOMER', '0', 'EMAIL', NULL, '05:00', '06:00', NULL)`
		ofType = "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type) VALUES ('RESTAURANT', '5', 'EMAIL', 'RESERVATION_REQUESTED')"
		older  = "UPDATE notification SET entity_type = NULL, entity_id = NULL" // planned by a release that did not keep the entity
	)
	evening := &notification.QuietHours{Start: 22*time.Hour + 30*time.Minute + 15*time.Second, End: 7 * time.Hour}
	night := &notification.QuietHours{Start: 22 * time.Hour, End: 7 * time.Hour}
	tests := []struct {
		name     string
		rows     []string
		action   notification.QuietHoursAction
		timezone string
		own      *notification.QuietHours
		group    *notification.QuietHours
	}{
		{name: "nobody, by no rules"},
		{name: "the recipient's", rows: []string{staff, deferred, own}, action: notification.Defer, timezone: "Europe/Rome", own: evening},
		{name: "off", rows: []string{staff, own, off}, timezone: "Europe/Rome"},
		{name: "the entity's", rows: []string{group}, group: night},
		{name: "the entity's row for the event's own type has none", rows: []string{group, ofType}},
		{name: "the entity is not known", rows: []string{group, older}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := withMail(t)
			exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', entity_type = 'RESTAURANT', entity_id = '5'")
			for _, sql := range tt.rows {
				exec(t, s, sql)
			}

			check, err := s.QuietCheck(t.Context(), mail)
			require.NoError(t, err)
			ofDigest, err := s.DigestQuietCheck(t.Context(), notification.DigestKey{
				UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "RESERVATION_REQUESTED",
			})
			require.NoError(t, err)

			require.Equal(t, check, ofDigest)
			require.Equal(t, tt.action == notification.Defer, check.Action == notification.Defer)
			require.Equal(t, tt.timezone, check.Timezone)
			require.Equal(t, notification.Email, check.Preference.Channel)
			require.Equal(t, tt.own, check.Preference.QuietHours)
			if tt.group == nil {
				require.Empty(t, check.Groups)
			} else {
				require.Len(t, check.Groups, 1)
				require.Equal(t, tt.group, check.Groups[0].QuietHours)
				require.Equal(t, "Europe/Rome", check.Groups[0].QuietTimezone)
			}
		})
	}
}
