package explain_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/explain"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// Each real change of a preference has one sentence, in order. Writing the same again has none.
func TestChangeSentence(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	role := postgrestest.Get[string](t, s, "SELECT session_user::text")
	who := notification.RecipientKey{UserType: notification.Customer, UserID: "7"}
	steps := []struct{ by, sql, want string }{
		{"inbox", `INSERT INTO user_notification_preferences (user_type, user_id, channel_type) VALUES ('CUSTOMER', '7', 'EMAIL')`, ""},
		{"inbox", `UPDATE user_notification_preferences SET enabled = true`, ""},
		{"inbox", `UPDATE user_notification_preferences SET enabled = false`, "EMAIL was switched off by the recipient."},
		{"", `UPDATE user_notification_preferences SET enabled = true`, "EMAIL was switched on by " + role + "."},
		{"unsubscribe link", `INSERT INTO user_category_preferences VALUES ('CUSTOMER', '7', 'offers', 'EMAIL', false)`,
			"EMAIL for offers was switched off by an unsubscribe link."},
		{"sendgrid", `INSERT INTO user_category_preferences VALUES ('CUSTOMER', '7', 'news', 'EMAIL', false)`,
			"EMAIL for news was switched off by sendgrid."},
		{"inbox", `DELETE FROM user_category_preferences WHERE category = 'news'`, "EMAIL for news was switched on by the recipient."},
		{"inbox", `UPDATE user_notification_preferences SET quiet_hours_start = '22:00', quiet_hours_end = '08:00:30'`, ""},
		{"inbox", `UPDATE user_notification_preferences SET quiet_hours_enabled = true`,
			"Quiet hours over EMAIL changed from none to 22:00–08:00:30 by the recipient."},
		{"inbox", `UPDATE user_notification_preferences SET quiet_hours_end = NULL, quiet_hours_enabled = false`,
			"Quiet hours over EMAIL changed from 22:00–08:00:30 to none by the recipient."},
		{"inbox", `UPDATE user_notification_preferences SET priority = 'HIGH'`,
			"Priority over EMAIL changed from NORMAL to HIGH by the recipient."},
		{"inbox", `INSERT INTO user_settings VALUES ('CUSTOMER', '7', 'Europe/Rome')`,
			"Time zone changed from the directory's to Europe/Rome by the recipient."},
		{"inbox", `UPDATE user_settings SET digest_at = '08:00'`, "Time of digests changed from the usual one to 08:00 by the recipient."},
		{"inbox", `INSERT INTO entity_follow (user_type, user_id, entity_type, entity_id) VALUES ('CUSTOMER', '7', 'RESTAURANT', '5')`,
			"RESTAURANT/5 was followed at the level ALL by the recipient."},
		{"inbox", `UPDATE entity_follow SET level = 'IMPORTANT'`, "RESTAURANT/5 was followed at the level IMPORTANT by the recipient."},
		{"inbox", `UPDATE entity_follow SET level = 'IMPORTANT'`, ""},
		{"link", `INSERT INTO entity_mute (user_type, user_id, entity_type, entity_id) VALUES ('CUSTOMER', '7', 'ORDER', '7')`,
			"ORDER/7 was muted by the recipient, by a link."},
		{"inbox", `DELETE FROM entity_mute`, "ORDER/7 was unmuted by the recipient."},
		{"", `DELETE FROM entity_follow`, "RESTAURANT/5 was unfollowed by " + role + "."},
		{"", `UPDATE user_notification_preferences SET user_id = '8'`, "Priority over EMAIL changed from HIGH to NORMAL by " + role + "."},
	}
	var want []string
	for _, step := range steps {
		tx := postgrestest.OpenTx(t, s, "SELECT set_config('herald.changed_by', '"+step.by+"', true)")
		_, err := tx.Exec(t.Context(), step.sql)
		require.NoError(t, err, step.sql)
		require.NoError(t, tx.Commit(t.Context()))
		if step.want != "" {
			want = append([]string{step.want}, want...)
		}
	}
	require.Equal(t, want, changesOf(t, s, who))
	who.UserID = "8"
	require.Equal(t, []string{"Priority over EMAIL changed from NORMAL to HIGH by " + role + "."}, changesOf(t, s, who))
}

// Each state of a decision has one sentence, and one short reason.
func TestSentence(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var out strings.Builder
	for _, d := range []list.RecipientDecision{
		{Decision: "QUIET_HOURS"}, {Decision: "THROTTLED", ThrottledBy: "evt-0-customer7-SMS"}, {Decision: "SELECTED"},
		{Decision: "SELECTED", Status: "PENDING"}, {Decision: "SELECTED", Status: "PENDING", SendAfter: &at},
		{Decision: "SELECTED", Status: "FAILED", LastError: "twilio refused: 400"},
		{Decision: "SELECTED", Status: "CANCELLED", LastError: "cancelled by ada"}, {Decision: "SELECTED", Status: "SENT", SentAt: &at},
		{Decision: "SELECTED", Status: "DELIVERED", SentAt: &at, LastError: "before"}, {Decision: "SELECTED", Status: "DELIVERED"},
	} {
		d.Channel = notification.SMS
		fmt.Fprintf(&out, "%s\n    %s\n", explain.Sentence(d, notification.Customer, "Europe/Rome"), explain.Reason(d, notification.Customer))
	}
	roomtest.Golden(t, "sentence", out.String())
}

func changesOf(t *testing.T, s *db.DB, who notification.RecipientKey) (texts []string) {
	t.Helper()
	changes, err := list.Reader{Pool: s.Pool}.PreferenceChanges(t.Context(), list.PreferenceFilter{RecipientKey: who}, 20)
	require.NoError(t, err)
	for _, change := range changes {
		texts = append(texts, explain.ChangeSentence(change))
	}
	return texts
}
