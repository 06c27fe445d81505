package postgres_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// A digest is judged as each of the deliveries that it lists.
func TestQuietCheck(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	key := notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "RESERVATION_REQUESTED"}
	check := func() notification.QuietCheck {
		check, err := s.QuietCheck(t.Context(), mail)
		require.NoError(t, err)
		ofDigest, err := s.DigestQuietCheck(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, check, ofDigest)
		return check
	}
	bare := notification.QuietCheck{Action: notification.Drop, Timezone: "UTC", Preference: notification.Preference{Channel: notification.Email}}
	require.Equal(t, bare, check(), "of nobody, by no rules")

	addRecipient(t, s, notification.RestaurantUser, "10")
	exec(t, s, "UPDATE recipient SET timezone = 'Europe/Rome'")
	exec(t, s, `
		INSERT INTO event_type_channel_routing (event_type, channel_type, quiet_hours_action)
		VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'DEFER'), ('RESERVATION_REQUESTED', 'SMS', 'DROP')`)
	exec(t, s, `
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		VALUES ('RESTAURANT_USER', '10', 'EMAIL', true, '22:30:15', '07:00'), ('RESTAURANT_USER', '10', 'SMS', true, '01:00', '02:00')`)
	require.Equal(t, notification.QuietCheck{
		Action: notification.Defer, Timezone: "Europe/Rome",
		Preference: notification.Preference{
			Channel:    notification.Email,
			QuietHours: &notification.QuietHours{Start: 22*time.Hour + 30*time.Minute + 15*time.Second, End: 7 * time.Hour},
		},
	}, check())

	exec(t, s, "UPDATE user_notification_preferences SET quiet_hours_enabled = false")
	require.Nil(t, check().Preference.QuietHours)
}

// The entity's row for the event's own type replaces the one for every type.
func TestQuietCheckOfAGroup(t *testing.T) {
	t.Parallel()

	s := withMail(t)
	exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', entity_type = 'RESTAURANT', entity_id = '5'")
	exec(t, s, `
		INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, quiet_hours_start, quiet_hours_end, quiet_hours_timezone)
		VALUES ('RESTAURANT', '5', 'EMAIL', NULL, '22:00', '07:00', 'Europe/Rome'),
		       ('RESTAURANT', '5', 'SMS', NULL, '01:00', '02:00', NULL),
		       ('RESTAURANT', '6', 'EMAIL', NULL, '03:00', '04:00', NULL),
		       ('CUSTOMER', '0', 'EMAIL', NULL, '05:00', '06:00', NULL)`)
	groups := func() []notification.Setting {
		check, err := s.QuietCheck(t.Context(), mail)
		require.NoError(t, err)
		ofDigest, err := s.DigestQuietCheck(t.Context(), notification.DigestKey{
			UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "RESERVATION_REQUESTED",
		})
		require.NoError(t, err)
		require.Equal(t, check, ofDigest)
		return check.Groups
	}
	night := &notification.QuietHours{Start: 22 * time.Hour, End: 7 * time.Hour}
	require.Equal(t, []notification.Setting{{QuietHours: night, QuietTimezone: "Europe/Rome"}}, groups())

	exec(t, s, `
		INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type)
		VALUES ('RESTAURANT', '5', 'EMAIL', 'RESERVATION_REQUESTED')`)
	require.Empty(t, groups(), "the event's own row has none")

	exec(t, s, "UPDATE notification SET entity_type = NULL, entity_id = NULL")
	require.Empty(t, groups(), "planned by a release that did not keep the entity")
}
