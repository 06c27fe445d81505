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
	unsubscriptions{{who, category, channel}}.queue(batch, "unsubscribe link")
	return postgres.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "unsubscribe")
}

// unsubscriptions are the choices that recipients switch off.
type unsubscriptions []unsubscription

type unsubscription struct {
	who      notification.RecipientKey
	category string // empty: all that comes over the channel
	channel  notification.Channel
}

// queue switches off the categories, or the channels, in the order of their keys, as
// [Store.SetPreferences] does. It records how with them.
func (u unsubscriptions) queue(batch *pgx.Batch, how string) {
	const channels = `
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled)
		SELECT DISTINCT user_type, user_id, channel, false
		FROM   unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (user_type, user_id, category, channel)
		JOIN   user_type USING (user_type)
		WHERE  category = ''
		ORDER BY user_type, user_id, channel
		ON CONFLICT (user_type, user_id, channel_type) DO UPDATE
		SET    enabled = false`
	const categories = `
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
		SELECT DISTINCT user_type, user_id, category, channel, false
		FROM   unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS u (user_type, user_id, category, channel)
		JOIN   user_type USING (user_type)
		WHERE  category <> ''
		ORDER BY user_type, user_id, category, channel
		ON CONFLICT (user_type, user_id, category, channel_type) DO UPDATE
		SET    enabled = false`

	var types, ids, names, over []string
	for _, one := range u {
		types, ids = append(types, string(one.who.UserType)), append(ids, one.who.UserID)
		names, over = append(names, one.category), append(over, string(one.channel))
	}
	if len(u) > 0 {
		queueChangedBy(batch, how)
		batch.Queue(channels, types, ids, names, over)
		batch.Queue(categories, types, ids, names, over)
	}
}
