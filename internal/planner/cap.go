package planner

import (
	"context"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
)

const (
	// CapFacts is a row f of frequency_cap as a [notification.Cap].
	CapFacts = `jsonb_build_object(
	           'Channel', f.channel_type,
	           'Category', coalesce(f.category, ''),
	           'AtMost', coalesce(f.at_most, 0),
	           'Per', coalesce((extract(epoch FROM f.per) * 1e9)::bigint, 0),
	           'Spacing', coalesce((extract(epoch FROM f.spacing) * 1e9)::bigint, 0),
	           'Defers', f.action = 'DEFER')`

	// HasCap reports whether a cap limits the channel of the delivery n.
	HasCap = `EXISTS (SELECT FROM frequency_cap f WHERE f.channel_type = n.channel)`

	// CountedKeys are the elements of $1 as rows k.
	CountedKeys = `jsonb_to_recordset($1) AS k ("UserType" text, "UserID" text, "Channel" text)`

	// longestCap is the time for which the caps of the channel of k count a message.
	longestCap = `(SELECT max(greatest(f.per, f.spacing)) FROM frequency_cap f WHERE f.channel_type = k."Channel")`

	// SelectCounted reads the counted messages of the recipients and channels of $1. A message whose
	// deliveries all ended unsent does not count: one delivery, or the items of a digest. Nor does a digest
	// whose items have all left it. $2 limits the messages of each.
	SelectCounted = `
		SELECT jsonb_build_object('UserType', c.user_type, 'UserID', c.user_id, 'Channel', c.channel_type, 'MessageID', c.message_id, 'Category',
		       c.category,
		           'At', c.at, 'Waits', c.waits, 'Place', c.place)
		FROM   ` + CountedKeys + `
		CROSS JOIN LATERAL (
		       SELECT *
		       FROM   counted_message m
		       WHERE  (m.user_type, m.user_id, m.channel_type) = (k."UserType", k."UserID", k."Channel")
		       AND    m.at > clock_timestamp() - ` + longestCap + `
		       AND    EXISTS (
		              SELECT FROM notification n
		              WHERE  m.message_id IN (n.delivery_id, n.digest_id)
		              AND    (n.status NOT IN ('FAILED', 'CANCELLED') OR n.sent_at IS NOT NULL))
		       ORDER BY m.at
		       LIMIT  $2
		) c`
)

// CountedKey returns the part of a message that selectCounted reads.
func CountedKey(userType notification.UserType, userID string, channel notification.Channel) notification.CountedMessage {
	return notification.CountedMessage{RecipientKey: notification.RecipientKey{UserType: userType, UserID: userID}, Channel: channel}
}

// ReadCounted adds to each person their messages that the caps count.
func (s Store) ReadCounted(ctx context.Context, caps notification.Caps, people []notification.Recipient) error {
	var keys []notification.CountedMessage
	for _, channel := range caps.Channels() {
		for _, person := range people {
			keys = append(keys, CountedKey(person.UserType, person.UserID, channel))
		}
	}
	counted, err := db.Collect(ctx, s.Pool, "read counted messages", pgx.RowTo[notification.CountedMessage], SelectCounted, keys,
		notification.MaxCounted)
	notification.AddCounted(people, counted)
	return err
}
