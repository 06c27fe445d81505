package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// quietCheck is the end of a query that begins with whom, with what and over
// which channel: k.
const quietCheck = `
		SELECT k.channel,
		       coalesce(e.quiet_hours_action, 'DROP'),
		       coalesce(r.timezone, 'UTC'),
		       CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
		           'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
		           'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END
		FROM   k
		LEFT JOIN event_type_channel_routing e ON e.event_type = k.event_type AND e.channel_type = k.channel
		LEFT JOIN recipient r ON r.user_type = k.user_type AND r.user_id = k.user_id
		LEFT JOIN user_notification_preferences u ON u.user_type = k.user_type AND u.user_id = k.user_id AND u.channel_type = k.channel`

// QuietCheck reads what judging a delivery's quiet hours takes, as it is now.
// Where there is no such delivery, the error is [notification.ErrNoDelivery].
func (s *Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	const query = `
		WITH k AS (
			SELECT user_type, user_id, channel, event_type
			FROM   notification
			WHERE  delivery_id = $1
		)` + quietCheck

	check, err := scanQuietCheck(s.Pool.QueryRow(ctx, query, deliveryID))
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.QuietCheck{}, notification.ErrNoDelivery
	}
	return check, err
}

// DigestQuietCheck reads what judging the quiet hours of a digest's recipient
// takes, as it is now.
func (s *Store) DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error) {
	const query = `
		WITH k AS (
			SELECT $1::text AS user_type, $2::text AS user_id, $3::text AS channel, $4::text AS event_type
		)` + quietCheck

	return scanQuietCheck(s.Pool.QueryRow(ctx, query, key.UserType, key.UserID, key.Channel, key.EventType))
}

func scanQuietCheck(row pgx.Row) (notification.QuietCheck, error) {
	var check notification.QuietCheck
	err := row.Scan(&check.Preference.Channel, &check.Action, &check.Timezone, &check.Preference.QuietHours)
	if err != nil {
		return notification.QuietCheck{}, fmt.Errorf("read quiet hours: %w", err)
	}
	return check, nil
}
