package report

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// Preference is a preference that a recipient has set.
type Preference struct {
	ChangedAt *time.Time // nil: before Herald recorded it
	ChangedBy string     // as in [PreferenceChange]; empty: not recorded
	Category  string     // empty: all messages over the channel
	Channel   notification.Channel
	Enabled   bool
	Quiet     string // the quiet hours: 22:00–08:00; empty: none
}

// Preferences reads the preferences that a recipient has set, the last change first.
func (r Reader) Preferences(ctx context.Context, who notification.RecipientKey) ([]Preference, error) {
	const query = `
		SELECT changed_at, coalesce(changed_by, '') AS changed_by, '' AS category, channel_type AS channel, enabled,
		       CASE WHEN quiet_hours_enabled AND quiet_hours_start <> quiet_hours_end
		            THEN to_char(quiet_hours_start, 'HH24:MI') || '–' || to_char(quiet_hours_end, 'HH24:MI') ELSE '' END AS quiet
		FROM   user_notification_preferences
		WHERE  user_type = $1
		AND    user_id = $2
		UNION ALL
		SELECT changed_at, coalesce(changed_by, ''), category, channel_type, enabled, ''
		FROM   user_category_preferences
		WHERE  user_type = $1
		AND    user_id = $2
		ORDER BY changed_at DESC NULLS LAST, category, channel
		LIMIT  500`

	return db.Collect(ctx, r.Pool, "read preferences", pgx.RowToStructByName[Preference], query, who.UserType, who.UserID)
}
