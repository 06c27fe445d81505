package postgres

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// Recipients reads the next page of up to limit recipients behind after, in one
// round trip, with the settings of their entities for an event type. Somebody
// whom several targets name comes once, with the first of them.
//
// A directory of one's own may hold what Herald's tables would refuse: an
// unknown user type, or an id that is too long for a workflow ID. Such rows are
// passed over.
func (s *Store) Recipients(ctx context.Context, eventType string, targets []notification.Target, after notification.Cursor, limit int) (notification.RecipientPage, error) {
	wanted, err := json.Marshal(targetRows(targets))
	if err != nil {
		return notification.RecipientPage{}, fmt.Errorf("encode targets: %w", err)
	}
	var page notification.RecipientPage
	batch := &pgx.Batch{}
	queueRecipients(batch, wanted, after, limit, &page)
	queueSettings(batch, eventType, wanted, &page.Settings)
	if err := s.Pool.SendBatch(ctx, batch).Close(); err != nil {
		return notification.RecipientPage{}, fmt.Errorf("read recipients: %w", err)
	}
	return page, nil
}

// targetRow is the JSON form in which a target travels to the database.
type targetRow struct {
	Ord        int                   `json:"ord"`
	UserType   notification.UserType `json:"user_type"`
	EntityType string                `json:"entity_type"`
	EntityID   string                `json:"entity_id"`
	Roles      []string              `json:"roles"`
}

func targetRows(targets []notification.Target) []targetRow {
	rows := make([]targetRow, 0, len(targets))
	for i, t := range targets {
		rows = append(rows, targetRow{i, t.UserType, t.Entity.Type, t.Entity.ID, t.Roles})
	}
	return rows
}

// recipientsQuery names everybody once, in the order of [notification.Cursor], and
// reads the details of one page.
const recipientsQuery = `
	WITH target AS (
		SELECT *
		FROM   jsonb_to_recordset($1) AS t (ord int, user_type text, entity_type text, entity_id text, roles text[])
	), candidate AS (
		SELECT t.ord, t.entity_type, t.entity_id, m.user_type, m.user_id, m.role
		FROM   target t
		JOIN   entity_member m ON m.entity_type = t.entity_type AND m.entity_id = t.entity_id
		JOIN   recipient r ON r.user_type = m.user_type AND r.user_id = m.user_id
		WHERE  m.active
		AND    r.active
		AND    t.entity_type NOT IN ('CUSTOMER', 'ADMIN', 'BROADCAST')
		AND    t.user_type IN ('', m.user_type)
		AND    (t.roles IS NULL OR m.role = ANY (t.roles))
		UNION ALL
		SELECT t.ord, t.entity_type, t.entity_id, r.user_type, r.user_id, ''
		FROM   target t
		JOIN   recipient r ON r.user_type = 'CUSTOMER' AND r.user_id = t.entity_id
		WHERE  t.entity_type = 'CUSTOMER'
		AND    t.user_type IN ('', 'CUSTOMER')
		AND    r.active
		UNION ALL
		SELECT t.ord, t.entity_type, t.entity_id, r.user_type, r.user_id, ''
		FROM   target t
		JOIN   recipient r ON t.user_type IN ('', r.user_type)
		WHERE  r.active
		AND    (t.entity_type = 'BROADCAST' OR (t.entity_type = 'ADMIN' AND r.user_type = 'ADMIN'))
	), named_once AS (
		SELECT DISTINCT ON (user_type, user_id)
		       *,
		       CASE role WHEN 'MANAGER' THEN 0 ELSE 1 END AS rank,
		       CASE WHEN user_id ~ '^[0-9]{1,18}$' THEN user_id::bigint ELSE 9223372036854775807 END AS number
		FROM   candidate
		ORDER BY user_type, user_id, ord, CASE role WHEN 'MANAGER' THEN 0 ELSE 1 END
	), page AS (
		SELECT *
		FROM   named_once
		WHERE  user_type IN ('RESTAURANT_USER', 'CUSTOMER', 'AGENCY_USER', 'ADMIN', 'GUEST')
		AND    octet_length(user_id) BETWEEN 1 AND 64
		AND    ($4 = '' OR (rank, number, user_id, user_type) > ($2, $3, $4, $5))
		ORDER BY rank, number, user_id, user_type
		LIMIT  $6
	)
	SELECT p.rank, p.number, p.user_type, p.user_id, p.role, p.entity_type, p.entity_id,
	       coalesce(r.name, ''), coalesce(r.email, ''), coalesce(r.phone, ''), coalesce(r.slack_webhook_url, ''),
	       coalesce(r.locale, ''), coalesce(r.timezone, ''),
	       EXISTS (
	           SELECT FROM recipient_device d
	           WHERE  d.user_type = p.user_type
	           AND    d.user_id = p.user_id
	           AND    d.active
	       ),
	       (
	           SELECT coalesce(jsonb_agg(jsonb_build_object(
	                      'Channel', u.channel_type,
	                      'Enabled', u.enabled,
	                      'QuietHours', CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
	                          'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
	                          'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END,
	                      'Priority', u.priority)), '[]')
	           FROM   user_notification_preferences u
	           WHERE  u.user_type = p.user_type
	           AND    u.user_id = p.user_id
	       )
	FROM   page p
	JOIN   recipient r USING (user_type, user_id) -- of the page alone: a broadcast is far too large to join whole
	ORDER BY p.rank, p.number, p.user_id, p.user_type`

func queueRecipients(batch *pgx.Batch, targets []byte, after notification.Cursor, limit int, page *notification.RecipientPage) {
	// One more than asked for tells whether there is a next page.
	batch.Queue(recipientsQuery, targets, after.Rank, after.Number, after.UserID, after.UserType, limit+1).Query(func(rows pgx.Rows) error {
		var last notification.Cursor
		for rows.Next() {
			if len(page.Recipients) == limit {
				page.Next = &last
				continue // there is one more row at most
			}
			recipient, cursor, err := scanRecipient(rows)
			if err != nil {
				return err
			}
			page.Recipients, last = append(page.Recipients, recipient), cursor
		}
		return rows.Err()
	})
}

func scanRecipient(row pgx.Row) (notification.Recipient, notification.Cursor, error) {
	var r notification.Recipient
	var c notification.Cursor
	err := row.Scan(&c.Rank, &c.Number, &r.UserType, &r.UserID, &r.Role, &r.Entity.Type, &r.Entity.ID,
		&r.Name, &r.Email, &r.Phone, &r.SlackWebhookURL, &r.Locale, &r.Timezone, &r.HasDevice, &r.Preferences)
	c.UserID, c.UserType = r.UserID, r.UserType
	return r, c, err
}

func queueSettings(batch *pgx.Batch, eventType string, targets []byte, settings *[]notification.Setting) {
	const query = `
		SELECT s.entity_type, s.entity_id, s.channel_type, s.event_type IS NOT NULL, s.enabled, s.max_recipients, s.allowed_roles,
		       ` + groupQuietHours + `
		FROM   entity_notification_settings s
		WHERE  (s.event_type IS NULL OR s.event_type = $1)
		AND    ((s.entity_type, s.entity_id) = ('CUSTOMER', '0')
		    OR  (s.entity_type, s.entity_id) IN (SELECT t.entity_type, t.entity_id FROM jsonb_to_recordset($2) AS t (entity_type text, entity_id text)))`

	batch.Queue(query, eventType, targets).Query(func(rows pgx.Rows) error {
		var s notification.Setting
		fields := []any{
			&s.Entity.Type, &s.Entity.ID, &s.Channel, &s.EventSpecific, &s.Enabled, &s.MaxRecipients, &s.AllowedRoles,
			&s.QuietHours, &s.QuietTimezone,
		}
		_, err := pgx.ForEachRow(rows, fields, func() error {
			*settings = append(*settings, s)
			s = notification.Setting{}
			return nil
		})
		return err
	})
}
