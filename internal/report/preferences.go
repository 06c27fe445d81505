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

// Setting is a kind of preference.
type Setting string

// The settings of preference_change.
const (
	SettingEnabled    Setting = "ENABLED"
	SettingQuietHours Setting = "QUIET_HOURS"
	SettingPriority   Setting = "PRIORITY"
	SettingTimezone   Setting = "TIMEZONE"
	SettingDigestAt   Setting = "DIGEST_AT"
)

// PreferenceChange is a row of preference_change.
type PreferenceChange struct {
	ID        int64
	At        time.Time
	Setting   Setting
	Channel   notification.Channel // empty: the setting holds for all
	Category  string               // empty: the setting holds for all
	OldValue  string               // empty: no quiet hours, the zone of the directory, the usual time of digests
	NewValue  string               // likewise
	ChangedBy string               // inbox, unsubscribe link, a provider, or a role of the database
}

// PreferenceFilter selects changes of a recipient's preferences. A zero Channel or Before is no
// condition.
type PreferenceFilter struct {
	notification.RecipientKey
	Channel notification.Channel // also selects the settings that hold for all
	Before  int64                // only ids below this one
}

// PreferenceChanges reads the changes that the filter selects, up to limit, newest first.
func (r Reader) PreferenceChanges(ctx context.Context, filter PreferenceFilter, limit int) ([]PreferenceChange, error) {
	const query = `
		SELECT id, at, setting, coalesce(channel, '') AS channel, coalesce(category, '') AS category,
		       coalesce(old_value, '') AS old_value, coalesce(new_value, '') AS new_value, changed_by
		FROM   preference_change
		WHERE  user_type = $1
		AND    user_id = $2
		AND    ($3::text IS NULL OR channel IS NULL OR channel = $3)
		AND    ($4::bigint IS NULL OR id < $4)
		ORDER BY id DESC
		LIMIT  $5`

	return db.Collect(ctx, r.Pool, "read changes of preferences", pgx.RowToStructByName[PreferenceChange], query,
		filter.UserType, filter.UserID, db.Optional(filter.Channel), db.Optional(filter.Before), limit)
}
