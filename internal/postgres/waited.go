package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"herald/internal/notification"
)

// waited is a locked delivery, with what the rules say of it now.
type waited struct {
	notification.Waited
	status notification.Status
	now    time.Time // by the database's clock
}

// facts is the beginning of a query that reads of the deliveries n all that may
// have changed since they were planned.
const facts = `
	SELECT now(), n.delivery_id, n.status, n.channel, n.user_type, n.user_id, coalesce(n.entity_type, ''), coalesce(n.entity_id, ''),
	       r.user_id IS NOT NULL, coalesce(r.active, false),
	       coalesce(r.email, ''), coalesce(r.phone, ''), coalesce(r.slack_webhook_url, ''), coalesce(r.timezone, ''),
	       EXISTS (
	           SELECT FROM recipient_device d
	           WHERE  d.user_type = n.user_type
	           AND    d.user_id = n.user_id
	           AND    d.active
	       ),
	       n.entity_type IS NULL OR n.entity_type IN ('CUSTOMER', 'ADMIN', 'BROADCAST') OR coalesce(m.active, false),
	       coalesce(m.role, ''),
	       CASE WHEN u.channel_type IS NULL THEN '[]' ELSE jsonb_build_array(jsonb_build_object(
	           'Channel', u.channel_type,
	           'Enabled', u.enabled,
	           'QuietHours', CASE WHEN u.quiet_hours_enabled THEN jsonb_build_object(
	               'Start', (extract(epoch FROM u.quiet_hours_start) * 1e9)::bigint,
	               'End', (extract(epoch FROM u.quiet_hours_end) * 1e9)::bigint) END)) END,
	       CASE WHEN e.channel_type IS NOT NULL THEN jsonb_build_object('Mandatory', e.mandatory, 'QuietHoursAction', e.quiet_hours_action) END,
	       ARRAY (SELECT c.user_type FROM channel_user_type c WHERE c.channel_type = n.channel),
	       (
	           SELECT jsonb_agg(jsonb_build_object(
	                      'Entity', jsonb_build_object('Type', s.entity_type, 'ID', s.entity_id),
	                      'Channel', s.channel_type,
	                      'EventSpecific', s.event_type IS NOT NULL,
	                      'Enabled', s.enabled,
	                      'AllowedRoles', s.allowed_roles,
	                      'QuietHours', CASE WHEN s.quiet_hours_start IS NOT NULL THEN jsonb_build_object(
	                          'Start', (extract(epoch FROM s.quiet_hours_start) * 1e9)::bigint,
	                          'End', (extract(epoch FROM s.quiet_hours_end) * 1e9)::bigint) END,
	                      'QuietTimezone', coalesce(s.quiet_hours_timezone, '')))
	           FROM   entity_notification_settings s
	           WHERE  s.channel_type = n.channel
	           AND    (s.event_type IS NULL OR s.event_type = n.event_type)
	           AND    s.entity_type = CASE n.user_type WHEN 'CUSTOMER' THEN 'CUSTOMER' ELSE n.entity_type END
	           AND    s.entity_id = CASE n.user_type WHEN 'CUSTOMER' THEN '0' ELSE n.entity_id END
	       )
	FROM   notification n
	LEFT JOIN recipient r ON r.user_type = n.user_type AND r.user_id = n.user_id
	LEFT JOIN LATERAL (
	    SELECT m.role, m.active
	    FROM   entity_member m
	    WHERE  m.entity_type = n.entity_type
	    AND    m.entity_id = n.entity_id
	    AND    m.user_type = n.user_type
	    AND    m.user_id = n.user_id
	    ORDER BY m.active DESC, (m.role = 'MANAGER') DESC -- a directory of one's own may have several
	    LIMIT  1
	) m ON true
	LEFT JOIN user_notification_preferences u ON u.user_type = n.user_type AND u.user_id = n.user_id AND u.channel_type = n.channel
	LEFT JOIN event_type_channel_routing e ON e.event_type = n.event_type AND e.channel_type = n.channel
	WHERE  `

// readWaited locks the deliveries that the condition selects, n, and reads all that
// may have changed since they were planned. A delivery of a release that did not keep
// the entity has none: then nobody's membership and no group's settings are asked for.
func readWaited(ctx context.Context, tx pgx.Tx, condition string, args ...any) ([]waited, error) {
	const locked = `
		ORDER BY n.id
		FOR UPDATE OF n`

	rows, err := tx.Query(ctx, facts+condition+locked, args...)
	if err != nil {
		return nil, fmt.Errorf("read what waited: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanWaited)
	if err != nil {
		return nil, fmt.Errorf("read what waited: %w", err)
	}
	return found, nil
}

func scanWaited(row pgx.CollectableRow) (waited, error) {
	var w waited
	r := &w.Recipient
	err := row.Scan(&w.now, &w.DeliveryID, &w.status, &w.Channel, &r.UserType, &r.UserID, &r.Entity.Type, &r.Entity.ID,
		&w.Known, &w.Active, &r.Email, &r.Phone, &r.SlackWebhookURL, &r.Timezone, &r.HasDevice,
		&w.Member, &r.Role, &r.Preferences, &w.Routing, &w.Served, &w.Settings)
	return w, err
}
