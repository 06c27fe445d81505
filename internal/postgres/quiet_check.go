package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// groupQuietHours is the quiet hours of a row s of entity_notification_settings,
// and their zone.
const groupQuietHours = `CASE WHEN s.quiet_hours_start IS NOT NULL THEN jsonb_build_object(
		           'Start', (extract(epoch FROM s.quiet_hours_start) * 1e9)::bigint,
		           'End', (extract(epoch FROM s.quiet_hours_end) * 1e9)::bigint) END,
		       coalesce(s.quiet_hours_timezone, '')`

// quietCheck is the end of a query that begins with whom, with what and over
// which channel: k; and through which entities: g. An entity's row for the event's
// own type replaces the one for every type, as in the rules. Customers share the
// row of CUSTOMER/0.
const quietCheck = `, setting AS (
			SELECT DISTINCT ON (s.entity_type, s.entity_id) s.*
			FROM   entity_notification_settings s
			CROSS JOIN k
			WHERE  s.channel_type = k.channel
			AND    (s.event_type IS NULL OR s.event_type = k.event_type)
			AND    ((k.user_type <> 'CUSTOMER' AND (s.entity_type, s.entity_id) IN (SELECT entity_type, entity_id FROM g))
			    OR  (k.user_type = 'CUSTOMER' AND (s.entity_type, s.entity_id) = ('CUSTOMER', '0')))
			ORDER BY s.entity_type, s.entity_id, s.event_type NULLS LAST
		)
		SELECT k.channel,
		       coalesce(e.quiet_hours_action, 'DROP'),
		       coalesce(r.timezone, 'UTC'),
		       CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
		           'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
		           'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END,
		       (
		           SELECT jsonb_agg(jsonb_build_object(
		                      'QuietHours', jsonb_build_object(
		                          'Start', (extract(epoch FROM s.quiet_hours_start) * 1e9)::bigint,
		                          'End', (extract(epoch FROM s.quiet_hours_end) * 1e9)::bigint),
		                      'QuietTimezone', coalesce(s.quiet_hours_timezone, '')) ORDER BY s.entity_type, s.entity_id)
		           FROM   setting s
		           WHERE  s.quiet_hours_start IS NOT NULL
		       )
		FROM   k
		LEFT JOIN event_type_channel_routing e ON e.event_type = k.event_type AND e.channel_type = k.channel
		LEFT JOIN recipient r ON r.user_type = k.user_type AND r.user_id = k.user_id
		LEFT JOIN user_notification_preferences u ON u.user_type = k.user_type AND u.user_id = k.user_id AND u.channel_type = k.channel`

// QuietCheck reads what judging a delivery's quiet hours takes, as it is now.
// Where there is no such delivery, the error is [notification.ErrNoDelivery].
func (s *Store) QuietCheck(ctx context.Context, deliveryID string) (notification.QuietCheck, error) {
	const query = `
		WITH k AS (
			SELECT user_type, user_id, channel, event_type, entity_type, entity_id
			FROM   notification
			WHERE  delivery_id = $1
		), g AS (
			SELECT entity_type, entity_id
			FROM   k
		)` + quietCheck

	check, err := scanQuietCheck(s.Pool.QueryRow(ctx, query, deliveryID))
	if errors.Is(err, pgx.ErrNoRows) {
		return notification.QuietCheck{}, notification.ErrNoDelivery
	}
	return check, err
}

// DigestQuietCheck reads what judging the quiet hours of a digest takes, as it is
// now: the recipient's, and those of every entity whose notifications it may list.
func (s *Store) DigestQuietCheck(ctx context.Context, key notification.DigestKey) (notification.QuietCheck, error) {
	const query = `
		WITH k AS (
			SELECT $1::text AS user_type, $2::text AS user_id, $3::text AS channel, $4::text AS event_type
		), g AS (
			SELECT DISTINCT n.entity_type, n.entity_id
			FROM  (SELECT entity_type, entity_id
			       FROM   notification
			       WHERE  user_type = $1
			       AND    user_id = $2
			       AND    channel = $3
			       AND    event_type = $4
			       AND    strategy = 'AGGREGATE'
			       AND    status = 'PENDING'
			       ORDER BY id
			       LIMIT  $5) AS n
		)` + quietCheck

	return scanQuietCheck(s.Pool.QueryRow(ctx, query, key.UserType, key.UserID, key.Channel, key.EventType, notification.MaxDigestItems))
}

func scanQuietCheck(row pgx.Row) (notification.QuietCheck, error) {
	var check notification.QuietCheck
	err := row.Scan(&check.Preference.Channel, &check.Action, &check.Timezone, &check.Preference.QuietHours, &check.Groups)
	if err != nil {
		return notification.QuietCheck{}, fmt.Errorf("read quiet hours: %w", err)
	}
	return check, nil
}
