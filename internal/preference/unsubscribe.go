package preference

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

// Unsubscribe switches off a category over a channel for a recipient, or the whole channel
// if the category is empty. The recipient sees this preference in their inbox. If everything in it
// is mandatory, the error is a [notification.PreferenceError].
func (s Store) Unsubscribe(ctx context.Context, who notification.RecipientKey, category string, channel notification.Channel) error {
	current, err := s.Preferences(ctx, who)
	if err != nil {
		return err
	}
	if err := current.CheckOff(category, channel); err != nil {
		return err
	}
	batch := &pgx.Batch{}
	QueueChangedBy(batch, byUnsubscribeLink)
	QueueChoices(batch, []Choice{{RecipientKey: who, Category: category, Channel: channel, Enabled: false}})
	return db.Wrap(s.Pool.SendBatch(ctx, batch).Close(), "unsubscribe")
}
