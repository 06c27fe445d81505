package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/internal/postgres/postgrestest"
)

// When and how somebody chose is recorded, whoever writes it, and stands until they choose
// again.
func TestConsentIsRecorded(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	who := notification.RecipientKey{UserType: notification.Customer, UserID: "1"}
	addRecipient(t, s, who.UserType, who.UserID)
	exec(t, s, "INSERT INTO event_category VALUES ('PROMOTION', 'offers')")
	exec(t, s, "INSERT INTO event_type_channel_routing (event_type, channel_type) VALUES ('PROMOTION', 'EMAIL')")
	consents := func() []string {
		return list(t, s, `
			SELECT concat_ws(' ', channel_type, enabled, changed_by) FROM user_notification_preferences WHERE changed_at > now() - interval '1 minute'
			UNION ALL
			SELECT concat_ws(' ', category, channel_type, enabled, changed_by) FROM user_category_preferences WHERE changed_at > now() - interval '1 minute'
			ORDER BY 1`)
	}

	require.NoError(t, s.Unsubscribe(t.Context(), who, "offers", notification.Email))
	require.Equal(t, []string{"offers EMAIL f unsubscribe link"}, consents())
	require.NoError(t, s.SetPreferences(t.Context(), who, notification.Preferences{Channels: []notification.ChannelPreference{{Channel: notification.Email, Enabled: new(true)}}}))
	require.Contains(t, consents(), "EMAIL t inbox")
	exec(t, s, "UPDATE user_category_preferences SET changed_at = now() - interval '1 day'")
	require.NoError(t, s.Unsubscribe(t.Context(), who, "offers", notification.Email))
	require.Equal(t, []string{"EMAIL t inbox"}, consents(), "who chooses the same again has chosen it before")
	exec(t, s, "UPDATE user_category_preferences SET enabled = true")
	require.Contains(t, consents(), "offers EMAIL t "+get[string](t, s, "SELECT session_user::text"))
}

// The English words of digests that came with Herald give way to an INSERT, once: the row is
// the installation's then.
func TestShippedTemplatesGiveWay(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	require.Equal(t, 2, get[int](t, s, "SELECT count(*) FROM notification_template WHERE shipped"))
	const insert = "INSERT INTO notification_template (event_type, channel, locale, title, body) VALUES ('digest', 'EMAIL', 'en', 'ours', 'ours')"
	exec(t, s, insert)
	require.Equal(t, "ours", get[string](t, s, "SELECT title FROM notification_template WHERE event_type = 'digest' AND channel = 'EMAIL' AND locale = 'en'"))
	_, err := s.Pool.Exec(t.Context(), insert)
	require.ErrorContains(t, err, "duplicate key")
	exec(t, s, "UPDATE notification_template SET title = 'ours' WHERE channel = '*'")
	require.Zero(t, get[int](t, s, "SELECT count(*) FROM notification_template WHERE shipped"))
}
