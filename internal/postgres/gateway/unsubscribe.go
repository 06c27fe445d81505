package gateway

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
	"herald/internal/postgres"
)

// Unsubscribe switches off a category over a channel for a recipient, or the whole channel
// if the category is empty. The recipient sees this preference in their inbox. If all of it
// is mandatory, the error is a [notification.PreferenceError].
func (s *Store) Unsubscribe(ctx context.Context, who notification.RecipientKey, category string, channel notification.Channel) error {
	current, err := s.Preferences(ctx, who)
	if err != nil {
		return err
	}
	if err := current.CheckOff(category, channel); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	queueUnsubscriptions(batch, []unsubscription{{who, category, channel}}, "unsubscribe link")
	return postgres.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "unsubscribe")
}

// unsubscription is a choice that a recipient switches off.
type unsubscription struct {
	notification.RecipientKey
	Category string // empty: all that comes over the channel
	Channel  notification.Channel
}

// queueUnsubscriptions switches off the categories, or the channels, in the order of their keys, as
// [Store.SetPreferences] does. It records how with them.
func queueUnsubscriptions(batch *pgx.Batch, all []unsubscription, how string) {
	const known = `
		FROM   jsonb_to_recordset($1) AS u ("UserType" text, "UserID" text, "Category" text, "Channel" text)
		JOIN   user_type t ON t.user_type = u."UserType"`
	const channels = `
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled)
		SELECT DISTINCT "UserType", "UserID", "Channel", false` + known + `
		WHERE  "Category" = ''
		ORDER BY "UserType", "UserID", "Channel"
		ON CONFLICT (user_type, user_id, channel_type) DO UPDATE
		SET    enabled = false`
	const categories = `
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
		SELECT DISTINCT "UserType", "UserID", "Category", "Channel", false` + known + `
		WHERE  "Category" <> ''
		ORDER BY "UserType", "UserID", "Category", "Channel"
		ON CONFLICT (user_type, user_id, category, channel_type) DO UPDATE
		SET    enabled = false`

	if len(all) > 0 {
		queueChangedBy(batch, how)
		batch.Queue(channels, all)
		batch.Queue(categories, all)
	}
}
